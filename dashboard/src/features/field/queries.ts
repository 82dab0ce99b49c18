import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';

/** A field of the project's contacts. */
export type Field = Schemas['FieldView'];

/** The fields of the project's contacts. Changing contacts may make one, so their key begins with that of contacts. */
const KEY = ['contacts', 'fields'] as const;

/** The fields of the project's contacts, with the share of contacts that have each. */
export const contactFields = () =>
  queryOptions({
    queryKey: projectKey(...KEY),
    queryFn: async ({ signal }) => (await call(api.GET('/contacts/fields', { signal }))).fields,
    staleTime: 60_000,
  });

/** Values that contacts have in a field. */
export const fieldValues = (field: string) =>
  queryOptions({
    queryKey: projectKey(...KEY, field, 'values'),
    queryFn: async ({ signal }) =>
      (await call(api.GET('/contacts/fields/{field}/values', { params: { path: { field } }, signal }))).values,
    staleTime: 60_000,
  });

/** Has the fields read again. */
export const reloadFields = () => queries.invalidateQueries({ queryKey: projectKey(...KEY) });

/** What refers to a field, and how many contacts have it. */
export const fieldUsage = (field: string) =>
  queryOptions({
    queryKey: projectKey(...KEY, field, 'usage'),
    queryFn: ({ signal }) => call(api.GET('/contacts/fields/{field}/usage', { params: { path: { field } }, signal })),
  });
