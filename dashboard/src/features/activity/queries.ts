import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** Something that happened. */
export type Entry = Schemas['ActivityView'];
/** What happened. */
export type ActivityType = Schemas['ActivityType'];
/** What is going to happen. */
export type Coming = Schemas['UpcomingView'];

/** What chooses entries, as the API takes it. What is missing chooses all. */
export interface FeedQuery {
  types?: string;
  contactId?: string;
  campaignId?: string;
  workflowId?: string;
  templateId?: string;
  startDate?: string;
  endDate?: string;
}

/** How many entries are read at once. */
const PAGE = 50;

/** A page of the feed. */
export const page = (query: FeedQuery, cursor: string | undefined, signal?: AbortSignal, limit = PAGE) =>
  call(
    api.GET('/activity', {
      params: { query: { ...query, limit, ...(cursor ? { cursor } : {}) } },
      ...(signal ? { signal } : {}),
    }),
  );

/** The feed, newest first. It is not read again by itself: what is new comes by the stream. */
export const feed = (query: FeedQuery) =>
  infiniteQueryOptions({
    queryKey: projectKey('activity', 'feed', query),
    queryFn: ({ pageParam, signal }) => page(query, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.hasMore ? (last.cursor ?? undefined) : undefined),
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });

/** The sums of a period. */
export const stats = (span: { startDate: string; endDate: string }) =>
  queryOptions({
    queryKey: projectKey('activity', 'stats', span),
    queryFn: ({ signal }) => call(api.GET('/activity/stats', { params: { query: span }, signal })),
    placeholderData: keepPreviousData,
  });

/** What is going to happen in the next month. */
export const upcoming = () =>
  queryOptions({
    queryKey: projectKey('activity', 'upcoming'),
    queryFn: ({ signal }) => call(api.GET('/activity/upcoming', { params: { query: { limit: 10 } }, signal })),
  });

/** What entries can be about. */
export type Scope = 'contact' | 'campaign' | 'workflow' | 'template';

/** The name of what entries are about. */
export const scopeName = (scope: Scope, id: string) =>
  queryOptions({
    queryKey: projectKey('activity', 'scope', scope, id),
    queryFn: async ({ signal }): Promise<string> => {
      const of = { params: { path: { id } }, signal };
      switch (scope) {
        case 'contact':
          return (await call(api.GET('/contacts/{id}', of))).email;
        case 'campaign':
          return (await call(api.GET('/campaigns/{id}', of))).name;
        case 'workflow':
          return (await call(api.GET('/workflows/{id}', of))).name;
        case 'template':
          return (await call(api.GET('/templates/{id}', of))).name;
      }
    },
    staleTime: 60_000,
  });
