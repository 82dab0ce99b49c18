/** What a value of data is written as in the editor. */
export type DataType = 'text' | 'number' | 'boolean' | 'date' | 'json';

/** The types that a value can have. */
export const DATA_TYPES: readonly DataType[] = ['text', 'number', 'boolean', 'date', 'json'];

/** A field of a contact's data while it is edited. */
export interface DataRow {
  id: number;
  name: string;
  type: DataType;
  /** What is in the field, as it is written; `true` or `false` for yes or no. */
  text: string;
  isRemoved: boolean;
  /** The value on the contact; missing for a field that it does not have yet. */
  before?: { value: unknown };
}

/** Why a field cannot be saved: a code that has a text, and a detail. */
export interface DataProblem {
  code: 'notNumber' | 'notDate' | 'notJson' | 'noList' | 'emptyValue';
  detail?: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Names that the service keeps for itself: it leaves them out of data. */
export const RESERVED: ReadonlySet<string> = new Set(['id', 'email', 'svc_id', 'svc_email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl']);

/** What a value is written as. */
export function typeOf(value: unknown): DataType {
  switch (typeof value) {
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'object':
      return 'json';
    default:
      return typeof value === 'string' && DAY.test(value) ? 'date' : 'text';
  }
}

/** A value as it is written. */
export function textOfValue(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** The fields of a contact's data, by name. */
export function rowsOf(data: Readonly<Record<string, unknown>>): DataRow[] {
  return Object.entries(data)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, value], id) => ({ id, name, type: typeOf(value), text: textOfValue(value), isRemoved: false, before: { value } }));
}

/** The value that a field has, or why it has none. */
export function valueOf({ type, text }: Pick<DataRow, 'type' | 'text'>): { value: unknown } | { problem: DataProblem } {
  switch (type) {
    case 'text':
      // the API takes an empty text for one that was not sent
      return text === '' ? { problem: { code: 'emptyValue' } } : { value: text };
    case 'boolean':
      return { value: text === 'true' };
    case 'number': {
      const value = Number(text);
      return text.trim() === '' || !Number.isFinite(value) ? { problem: { code: 'notNumber' } } : { value };
    }
    case 'date':
      return DAY.test(text) && !Number.isNaN(Date.parse(text)) ? { value: text } : { problem: { code: 'notDate' } };
    case 'json':
      return jsonOf(text);
  }
}

function jsonOf(text: string): { value: unknown } | { problem: DataProblem } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { value } : { problem: { code: 'noList' } };
  } catch (error) {
    return { problem: { code: 'notJson', detail: error instanceof Error ? error.message : '' } };
  }
}

/** Whether a field differs from the contact's. */
export function isChanged(row: DataRow): boolean {
  if (!row.before) return !row.isRemoved;
  if (row.isRemoved) return true;
  return row.type !== typeOf(row.before.value) || row.text !== textOfValue(row.before.value);
}

/** What is sent: the changed fields, and null for those to remove; with what is wrong, by the ids of the fields. */
export function patchOf(rows: readonly DataRow[]): { patch: Record<string, unknown>; problems: ReadonlyMap<number, DataProblem> } {
  // a field may be named `__proto__`
  const patch = new Map<string, unknown>();
  const problems = new Map<number, DataProblem>();
  for (const row of rows) {
    if (!isChanged(row)) continue;
    if (row.isRemoved) {
      patch.set(row.name, null);
      continue;
    }
    const result = valueOf(row);
    if ('problem' in result) problems.set(row.id, result.problem);
    else patch.set(row.name, result.value);
  }
  return { patch: Object.fromEntries(patch), problems };
}

/** What a text becomes when its field gets another type, as far as it fits. */
export function converted(text: string, type: DataType): string {
  switch (type) {
    case 'boolean':
      return String(['true', 'yes', '1'].includes(text.trim().toLowerCase()));
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? text.trim() : '';
    case 'date':
      return DAY.test(text.slice(0, 10)) ? text.slice(0, 10) : '';
    case 'json':
      return 'value' in jsonOf(text) ? text : '';
    case 'text':
      return text;
  }
}
