import { queryOptions } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import type { Versioned } from '#/editor/writing';

/** What has versions, a template or a campaign, as far as they are compared. */
export interface Current extends Versioned {
  id: string;
  from: string;
  fromName?: string | null;
  type: Schemas['TemplateType'];
}

/** Where the former versions of templates or campaigns come from, and how one becomes the current one. */
export interface VersionSource<T extends Current> {
  key: (id: string) => readonly unknown[];
  list: (id: string, signal: AbortSignal) => Promise<Schemas['CursorPage_ListedContentVersion']>;
  one: (id: string, number: number, signal: AbortSignal) => Promise<Schemas['ContentVersion']>;
  restore: (id: string, number: number) => Promise<T>;
}

/** The former versions of one of them. */
export const versions = <T extends Current>(source: VersionSource<T>, id: string) =>
  queryOptions({ queryKey: source.key(id), queryFn: ({ signal }) => source.list(id, signal) });

/** One former version. */
export const version = <T extends Current>(source: VersionSource<T>, id: string, number: number) =>
  queryOptions({
    queryKey: [...source.key(id), number],
    queryFn: ({ signal }) => source.one(id, number, signal),
    staleTime: Infinity,
  });
