import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { asked } from '#/api/reach';

/** A contact as the API shows it. */
export type Contact = Schemas['ContactView'];
/** A field of the project's contacts. */
export type ContactField = Schemas['FieldView'];

/** A contact. */
export const contact = (id: string) =>
  queryOptions({
    queryKey: projectKey('contacts', 'one', id),
    queryFn: ({ signal }) => call(api.GET('/contacts/{id}', { params: { path: { id } }, signal })),
  });

/** Which contacts are listed, and in which order. */
export interface ContactQuery {
  search: string;
  subscribed: boolean | undefined;
  sort: 'createdAt' | 'email';
  dir: 'asc' | 'desc';
  /** Only contacts that meet it. */
  condition: Schemas['FilterTree'] | undefined;
}

/** How many contacts a page of the list has. */
export const PAGE = 100;

/** A page of the list of contacts. */
export function contactPage({ condition, ...rest }: ContactQuery, cursor: string | undefined, signal?: AbortSignal) {
  const query = { limit: PAGE, cursor, ...rest };
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''));
  if (condition) return call(api.POST('/contacts/search', { body: { ...given, condition }, ...(signal ? { signal } : {}), fetch: asked }));
  return call(api.GET('/contacts', { params: { query: given }, ...(signal ? { signal } : {}) }));
}
