import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** A key of a project. A secret one is without the key itself. */
export type Key = Schemas['KeyView'];
/** A part of a project that a secret key can be limited to. */
export type Scope = Schemas['Scope'];

/** The keys of the project: its own pair, and further secret ones. */
export const keys = (id: string) =>
  queryOptions({
    queryKey: projectKey('keys'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/keys', { params: { path: { id } }, signal })),
  });

/** The scopes, from those that programs need most. */
export const SCOPES: readonly Scope[] = ['send', 'contacts', 'campaigns', 'workflows', 'read', 'everything'];
