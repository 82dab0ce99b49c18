import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** An entry of the timeline. */
export type Activity = Schemas['ActivityView'];

const key = (id: string, ...rest: readonly unknown[]) => projectKey('contacts', 'one', id, ...rest);

/** What happened to a contact, newest first. `types` are names of types with commas between, or empty for all. */
export const timeline = (id: string, types: string) =>
  infiniteQueryOptions({
    queryKey: key(id, 'activity', types),
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET('/activity', {
          params: { query: { contactId: id, limit: 50, ...(types ? { types } : {}), ...(pageParam ? { cursor: pageParam } : {}) } },
          signal,
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => (page.hasMore && page.cursor ? page.cursor : undefined),
  });

/** The types of entries that a timeline can have. */
export const activityTypes = () =>
  queryOptions({
    queryKey: projectKey('activity', 'types'),
    queryFn: async ({ signal }) => (await call(api.GET('/activity/types', { signal }))).types,
    staleTime: 3_600_000,
  });

/** The mails to and from a contact, newest first. */
export const mails = (id: string) =>
  infiniteQueryOptions({
    queryKey: key(id, 'emails'),
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET('/emails', { params: { query: { contactId: id, limit: 25, ...(pageParam ? { cursor: pageParam } : {}) } }, signal }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => (page.hasMore && page.cursor ? page.cursor : undefined),
  });

/** What a contact agreed to and when, newest first. */
export const consent = (id: string) =>
  infiniteQueryOptions({
    queryKey: key(id, 'consent'),
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET('/contacts/{id}/consent', {
          params: { path: { id }, query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } },
          signal,
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => (page.hasMore && page.cursor ? page.cursor : undefined),
  });

/** How a contact stands to each topic. */
export const topicsOf = (id: string) =>
  queryOptions({
    queryKey: key(id, 'topics'),
    queryFn: async ({ signal }) => (await call(api.GET('/contacts/{id}/topics', { params: { path: { id } }, signal }))).data,
  });

/** The segments that a contact is in. */
export const segmentsOf = (id: string) =>
  queryOptions({
    queryKey: key(id, 'segments'),
    queryFn: ({ signal }) => call(api.GET('/contacts/{id}/segments', { params: { path: { id } }, signal })),
  });

/** The ways of a contact through workflows, newest first. */
export const executionsOf = (id: string) =>
  infiniteQueryOptions({
    queryKey: key(id, 'executions'),
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET('/contacts/{id}/executions', {
          params: { path: { id }, query: { limit: 25, ...(pageParam ? { cursor: pageParam } : {}) } },
          signal,
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => (page.hasMore && page.cursor ? page.cursor : undefined),
  });

/** Which mail a contact would get now, and what keeps mail back. */
export const standing = (id: string) =>
  queryOptions({
    queryKey: key(id, 'standing'),
    queryFn: ({ signal }) => call(api.GET('/contacts/{id}/standing', { params: { path: { id } }, signal })),
  });
