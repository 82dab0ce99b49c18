import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import type { CursorPage, CursorSource } from '#/ui/cursor-rows';

/** A request that was answered. */
export type LoggedRequest = Schemas['RequestView'];

/** What chooses requests, as the API takes it. */
export interface RequestQuery {
  keyId?: string;
  status?: string;
  code?: string;
  method?: string;
  route?: string;
  requestId?: string;
  since?: string;
  until?: string;
}

const PAGE = 100;

/** The log of requests, newest first. Another number of `reading` reads it anew. `leftOut` is told how many errors are not in it. */
export const requests = (query: RequestQuery, reading: number, leftOut: (count: number) => void): CursorSource<LoggedRequest> => ({
  key: projectKey('requests', 'list', query, reading),
  fetch: async (cursor, signal): Promise<CursorPage<LoggedRequest>> => {
    const page = await call(
      api.GET('/requests', { params: { query: { ...query, limit: PAGE, ...(cursor ? { cursor } : {}) } }, signal }),
    );
    if (!cursor) leftOut(page.leftOut ?? 0);
    return page;
  },
  pageSize: PAGE,
});

/** A request of the log. */
export const request = (id: string) =>
  queryOptions({
    queryKey: projectKey('requests', id),
    queryFn: ({ signal }) => call(api.GET('/requests/{id}', { params: { path: { id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The keys of the project, for their names. */
export const keys = (project: string) =>
  queryOptions({
    queryKey: projectKey('requests', 'keys'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/keys', { params: { path: { id: project } }, signal })),
    staleTime: 60_000,
  });
