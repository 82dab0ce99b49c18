import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';

/** A captured mail as the list shows it. */
export type Captured = Schemas['CapturedView'];
/** A captured mail with its parts. */
export type Message = Schemas['MessageView'];

const PAGE = 50;

/** A page of captured mails. */
export const page = (cursor: string | undefined, signal?: AbortSignal) =>
  call(
    api.GET('/mailbox', {
      params: { query: { limit: PAGE, ...(cursor ? { cursor } : {}) } },
      ...(signal ? { signal } : {}),
    }),
  );

/** Captured mails, newest first. What arrives is put on top, so they are not read again by themselves. */
export const mailbox = () =>
  infiniteQueryOptions({
    queryKey: projectKey('mailbox', 'list'),
    queryFn: ({ pageParam, signal }) => page(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.hasMore ? (last.cursor ?? undefined) : undefined),
    refetchOnWindowFocus: false,
  });

/** A captured mail. It never changes. */
export const message = (id: string) =>
  queryOptions({
    queryKey: projectKey('mailbox', id),
    queryFn: ({ signal }) => call(api.GET('/mailbox/{id}', { params: { path: { id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
    // its source can have megabytes
    gcTime: 60_000,
  });

/** What a look at a captured mail finds: its signature, its links, its pictures and its size. */
export const checks = (id: string) =>
  queryOptions({
    queryKey: projectKey('mailbox', id, 'checks'),
    queryFn: ({ signal }) => call(api.GET('/mailbox/{id}/checks', { params: { path: { id } }, signal })),
  });

/** How many of the newest mails are looked at for where mail goes. */
const LOOKED_AT = 5;

/** What stands for a host where mail is kept in the mailbox. */
const CAPTURE = 'capture';

/**
 * What took the newest mail: a host, or the mailbox; null where no mail was sent. The API does not say which transport an
 * instance has, but each attempt has its host.
 */
const takenBy = () =>
  queryOptions({
    queryKey: projectKey('mailbox', 'leaves-to'),
    queryFn: async ({ signal }): Promise<string | null> => {
      const { data } = await call(api.GET('/emails', { params: { query: { limit: LOOKED_AT } }, signal }));
      const sent = data.find((mail) => mail.sentAt);
      if (!sent) return null;
      const { attempts } = await call(api.GET('/emails/{id}', { params: { path: { id: sent.id } }, signal }));
      return attempts.at(-1)?.host ?? null;
    },
    staleTime: 60_000,
  });

/** The host that took the newest mail; null where it is kept in the mailbox, or no mail was sent. */
export const leavesTo = () => ({ ...takenBy(), select: (host: string | null) => (host === CAPTURE ? null : host) });

/** Whether mail is kept in the mailbox, as the newest one was; null where no mail was sent. */
export const isKept = () => ({ ...takenBy(), select: (host: string | null) => (host === null ? null : host === CAPTURE) });

/** Forgets mails that are gone, a moment later, when nothing shows them any more: what does would ask for them again. */
function forget(...mail: readonly string[]): void {
  const queryKey = projectKey('mailbox', ...mail);
  setTimeout(() => queries.removeQueries({ queryKey, type: 'inactive' }));
}

/** Removes a captured mail. `leave` leads away from it. */
export async function removeMail(id: string, leave: () => void): Promise<void> {
  await call(api.DELETE('/mailbox/{id}', { params: { path: { id } } }));
  await queries.invalidateQueries({ queryKey: projectKey('mailbox', 'list') });
  leave();
  forget(id);
}

/** Removes every captured mail of the project. */
export async function clearMailbox(): Promise<void> {
  await call(api.DELETE('/mailbox'));
  await queries.resetQueries({ queryKey: projectKey('mailbox', 'list') });
  void queries.invalidateQueries({ queryKey: projectKey('mailbox', 'leaves-to') });
  forget();
}
