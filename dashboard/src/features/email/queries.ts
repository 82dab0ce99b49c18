import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, rawRequest, type Schemas } from '#/api/client';
import { ApiError } from '#/api/error';
import { projectKey } from '#/api/query';
import type { CursorSource } from '#/ui/cursor-rows';

/** A mail to one recipient, or one that came in. */
export type Email = Schemas['EmailView'];
/** A mail with its attempts. */
export type EmailDetail = Schemas['EmailWithAttempts'];
/** How a mail stands. */
export type EmailStatus = Schemas['EmailStatus'];
/** An attempt to hand a mail over. */
export type Attempt = Schemas['AttemptView'];
/** An open or a click. */
export type Hit = Schemas['CursorPage_HitView']['data'][number];

/** What chooses mails. */
export interface EmailQuery {
  status?: EmailStatus;
  contactId?: string;
}

const PAGE = 100;

/** The mails of a project, newest first. Another number of `reading` reads the list anew, as its cursors lead only back. */
export const emails = (query: EmailQuery, reading: number): CursorSource<Email> => ({
  key: projectKey('emails', 'list', query, reading),
  fetch: (cursor, signal) =>
    call(api.GET('/emails', { params: { query: { ...query, limit: PAGE, ...(cursor ? { cursor } : {}) } }, signal })),
  pageSize: PAGE,
});

/** The newest few mails in a state, and how many there are. */
export const emailsIn = (query: EmailQuery, limit: number) =>
  queryOptions({
    queryKey: projectKey('emails', 'newest', query, limit),
    queryFn: ({ signal }) => call(api.GET('/emails', { params: { query: { ...query, limit } }, signal })),
    refetchInterval: 10_000,
  });

/** A mail. While it is under way it is asked for again and again. */
export const email = (id: string) =>
  queryOptions({
    queryKey: projectKey('emails', id),
    queryFn: ({ signal }) => call(api.GET('/emails/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data && ['PENDING', 'SENDING'].includes(state.data.status) ? 3_000 : 15_000),
  });

/** The opens and clicks of a mail, oldest first. */
export const hits = (id: string) =>
  infiniteQueryOptions({
    queryKey: projectKey('emails', id, 'hits'),
    queryFn: ({ pageParam, signal }) =>
      call(
        api.GET('/emails/{id}/hits', {
          params: { path: { id }, query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.hasMore ? (last.cursor ?? undefined) : undefined),
  });

/** Whether the content of a mail is still kept, so that it can be shown. */
export const hasContent = (id: string) =>
  queryOptions({
    queryKey: projectKey('emails', id, 'content'),
    queryFn: async ({ signal }) => {
      try {
        await rawRequest(`/emails/${id}/html`, { signal });
        return true;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return false;
        throw error;
      }
    },
    staleTime: 60_000,
  });

/** Whether the capture transport kept this mail, so that it can be read. */
export const isCaptured = (id: string) =>
  queryOptions({
    queryKey: projectKey('emails', id, 'captured'),
    queryFn: async ({ signal }) => {
      const { response } = await api.GET('/mailbox/{id}', { params: { path: { id } }, signal });
      return response.ok;
    },
    staleTime: 60_000,
  });

/** The contacts whose address contains a text. */
export const contactsLike = (search: string) =>
  queryOptions({
    queryKey: projectKey('emails', 'contacts-like', search),
    queryFn: ({ signal }) => call(api.GET('/contacts', { params: { query: { search, limit: 8, sort: 'email', dir: 'asc' } }, signal })),
    enabled: search !== '',
    placeholderData: keepPreviousData,
  });
