import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** A project as a member sees it. */
export type Project = Schemas['ProjectView'];

/** How many projects the switcher shows at most. */
const MOST = 100;

/** The projects of who is signed in. */
export const projects = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => call(api.GET('/users/@me/projects', { params: { query: { pageSize: MOST } }, signal })),
  staleTime: 60_000,
});

/** What is set up in the project that is open. It is asked for anew each time: programs change it, not this page. */
export const setupState = (id: string) =>
  queryOptions({
    queryKey: projectKey('setup-state'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/setup-state', { params: { path: { id } }, signal })),
    staleTime: 0,
  });

/** How well the mail of the project that is open is received. */
export const security = (id: string) =>
  queryOptions({
    queryKey: projectKey('security'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/security', { params: { path: { id } }, signal })),
  });
