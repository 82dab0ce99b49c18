import type { Schemas } from '#/api/client';
import { rawRequest } from '#/api/client';
import { asked } from '#/api/reach';

/** How large a file can be, in bytes. */
export const MOST_BYTES = 5 * 1024 * 1024;

/** Whether a file is taken for CSV, as the API does it: by its type or its name. */
export function isCsv(file: Pick<File, 'name' | 'type'>): boolean {
  return file.type === 'text/csv' || file.name.toLowerCase().endsWith('.csv');
}

/** What columns are for, by their names: `email`, `subscribed`, a field of data, or null for what is left out. */
export type Mapping = Readonly<Record<string, string | null>>;

/** What a field names that one column of a file can be for, written as the API does; nothing where any number can. */
export function onlyOnce(field: string | null): 'email' | 'subscribed' | undefined {
  const name = field?.trim().toLowerCase();
  return name === 'email' || name === 'subscribed' ? name : undefined;
}

type Column = Pick<Schemas['ImportPreview']['columns'][number], 'name' | 'field'>;

/** Columns that are for the same address or the same subscription, by their names; none where a file can be imported so. */
export function conflictsOf(columns: readonly Column[]): { field: 'email' | 'subscribed'; names: string[] }[] {
  return (['email', 'subscribed'] as const)
    .map((field) => ({ field, names: columns.filter((one) => onlyOnce(one.field) === field).map((one) => one.name) }))
    .filter(({ names }) => names.length > 1);
}

/** Columns as they were found, with what somebody said since. */
export function mapped<Of extends Column>(columns: readonly Of[], mapping: Mapping | undefined): Of[] {
  return columns.map((one) => ({ ...one, field: mapping && Object.hasOwn(mapping, one.name) ? (mapping[one.name] ?? null) : one.field }));
}

/** Asks what an import would make of a file. */
export async function look(file: File, mapping: Mapping | undefined, signal: AbortSignal): Promise<Schemas['ImportPreview']> {
  const form = new FormData();
  if (mapping) form.set('mapping', JSON.stringify(mapping));
  form.set('file', file);
  return (await rawRequest('/contacts/import/preview', { method: 'POST', body: form, signal }, asked)).json();
}

/** Begins an import. */
export async function upload(file: File, options: { verify: boolean; mapping: Mapping | undefined }): Promise<Schemas['QueuedJob']> {
  const form = new FormData();
  // the parts before the file, so that they are known when it comes
  if (options.verify) form.set('verify', 'true');
  if (options.mapping) form.set('mapping', JSON.stringify(options.mapping));
  form.set('file', file);
  return (await rawRequest('/contacts/import', { method: 'POST', body: form })).json();
}
