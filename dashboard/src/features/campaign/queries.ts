import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { asked } from '#/api/reach';
import type { VersionSource } from '#/features/template/versions';
import type { CursorSource } from '#/ui/cursor-rows';

/** A campaign as a list has it. */
export type Listed = Schemas['CampaignView'];
/** A campaign with what it is made from. */
export type Campaign = Schemas['EditedView_CampaignView'];
/** How far a campaign is. */
export type Status = Schemas['CampaignStatus'];
/** The state of a mail in the ledger. */
export type State = Schemas['RecipientState'];
/** An entry of the ledger. */
export type Entry = Schemas['LedgerEntry'];

/** How many campaigns are on a page of the list. */
export const PAGE_SIZE = 20;
/** How many versions are listed: all that are kept. */
const VERSIONS = 50;
/** How often a campaign under way is read anew, in milliseconds. */
const LIVE_MS = 2_000;
/** How often what may still grow is read anew. */
const SLOW_MS = 15_000;

/** A page of campaigns. */
export const campaigns = (page: number, status: Status | '', search: string) =>
  queryOptions({
    queryKey: projectKey('campaigns', { page, status, search }),
    queryFn: ({ signal }) =>
      call(
        api.GET('/campaigns', {
          params: {
            query: {
              page,
              pageSize: PAGE_SIZE,
              ...(status ? { status } : {}),
              ...(search ? { search } : {}),
              sort: 'createdAt',
              dir: 'desc',
            },
          },
          signal,
        }),
      ),
    placeholderData: (before) => before,
    refetchInterval: (query) => (query.state.data?.data.some((one) => one.status === 'SENDING') ? LIVE_MS : false),
  });

/** One campaign; read anew while it is sent. */
export const campaign = (id: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id),
    queryFn: ({ signal }) => call(api.GET('/campaigns/{id}', { params: { path: { id } }, signal })),
    refetchInterval: (query) => {
      const status = query.state.data?.status;
      return status === 'SENDING' || (status === 'CANCELLED' && !query.state.data?.finishedAt) ? LIVE_MS : false;
    },
  });

/** Who would get the campaign now. */
export const audience = (id: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'audience'),
    queryFn: ({ signal }) => call(api.GET('/campaigns/{id}/audience', { params: { path: { id } }, signal })),
    placeholderData: keepPreviousData,
  });

/** How many of its recipients a campaign is shown to while it is reviewed. */
const SAMPLES = 5;

/** Some recipients of a campaign, to see what they would get. */
export const samples = ({ id, type, audienceType, segmentId, audienceCondition, updatedAt }: Campaign) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'samples', updatedAt),
    queryFn: async ({ signal }): Promise<Pick<Schemas['ContactView'], 'id' | 'email'>[]> => {
      const onlySubscribed = type !== 'TRANSACTIONAL';
      if (audienceType === 'ALL') {
        const query = { limit: SAMPLES, ...(onlySubscribed ? { subscribed: true } : {}) };
        return (await call(api.GET('/contacts', { params: { query }, signal }))).data;
      }
      const found =
        audienceType === 'SEGMENT'
          ? (await call(
              api.GET('/segments/{id}/contacts', { params: { path: { id: segmentId ?? '' }, query: { page: 1, pageSize: 50 } }, signal }),
            )).data
          : audienceCondition
            ? (await call(api.POST('/segments/preview', { body: { condition: audienceCondition, sample: 20 }, signal, fetch: asked }))).sample
            : [];
      return found.filter((contact) => !onlySubscribed || contact.subscribed).slice(0, SAMPLES);
    },
    retry: false,
  });

/** A campaign as one of its recipients would get it. */
export const rendering = ({ id, subject, body, type, updatedAt }: Campaign, contactId: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'rendering', contactId, updatedAt),
    queryFn: async ({ signal }) => {
      const answer = await call(api.POST('/preview', { body: { subject, body, type, contactId, format: 'json' }, signal, fetch: asked }));
      // it would be text if another format was asked for
      return { subject: typeof answer === 'string' ? '' : answer.subject };
    },
    retry: false,
  });

/** The former versions of what campaigns are made of. */
export const versions: VersionSource<Campaign> = {
  key: (id) => projectKey('campaign', id, 'versions'),
  list: (id, signal) =>
    call(api.GET('/campaigns/{id}/versions', { params: { path: { id }, query: { limit: VERSIONS } }, signal })),
  one: (id, number, signal) =>
    call(api.GET('/campaigns/{id}/versions/{number}', { params: { path: { id, number } }, signal })),
  restore: (id, number) => call(api.POST('/campaigns/{id}/versions/{number}/restore', { params: { path: { id, number } } })),
};

/** What speaks against sending the campaign now. */
export const review = (id: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'review'),
    queryFn: ({ signal }) => call(api.GET('/campaigns/{id}/review', { params: { path: { id } }, signal })),
  });

/** What became of the mails of a campaign, in sums; read anew while it is sent, and once more at its end. */
export const ledger = (id: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'ledger'),
    queryFn: ({ signal }) => call(api.GET('/campaigns/{id}/ledger', { params: { path: { id } }, signal })),
    refetchInterval: ({ state: { data } }) => (data?.status === 'SENDING' || waits(data) ? LIVE_MS : SLOW_MS),
  });

/** Whether mails wait, as they may after a campaign was cancelled. */
function waits(data: Schemas['CampaignLedger'] | undefined): boolean {
  return data?.totals.some((total) => total.state === 'WAITING' && total.count > 0) ?? false;
}

/** The mails of a campaign in a state, for a reason or for any. */
export function entries(id: string, state: State, reason: string): CursorSource<Entry> {
  return {
    key: projectKey('campaign', id, 'ledger', state, reason),
    pageSize: 100,
    fetch: (cursor, signal) =>
      call(
        api.GET('/campaigns/{id}/ledger', {
          params: {
            path: { id },
            query: {
              state,
              limit: 100,
              ...(reason ? { reason: reason as Schemas['Reason'] } : {}),
              ...(cursor ? { cursor } : {}),
            },
          },
          signal,
        }),
      ).then((page) => ({ data: page.data, hasMore: page.hasMore, cursor: page.cursor ?? null })),
  };
}

/** The figures of a campaign. They go on growing when it is over. */
export const stats = (id: string, isLive: boolean) =>
  queryOptions({
    // at the end of a campaign they are read at once
    queryKey: projectKey('campaign', id, 'stats', isLive),
    queryFn: ({ signal }) => call(api.GET('/campaigns/{id}/stats', { params: { path: { id } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: isLive ? LIVE_MS : SLOW_MS,
  });

/** The links of a campaign and who followed them. */
export const links = (id: string) =>
  queryOptions({
    queryKey: projectKey('campaign', id, 'links'),
    queryFn: async ({ signal }) =>
      (await call(api.GET('/campaigns/{id}/links', { params: { path: { id } }, signal }))).links,
    refetchInterval: SLOW_MS,
  });

/** Puts a campaign that the API answered into what is known, and has everything about it read again. */
export function know(known: Campaign): void {
  queries.setQueryData(campaign(known.id).queryKey, known);
  void reload(known.id);
}

/** Has a campaign and the lists that it is in read again. */
export async function reload(id: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: projectKey('campaign', id) }),
    queries.invalidateQueries({ queryKey: projectKey('campaigns') }),
  ]);
}

/** Saves what changed of a campaign. */
export async function save(id: string, changes: Schemas['UpdateCampaignRequest']): Promise<Campaign> {
  const saved = await call(api.PUT('/campaigns/{id}', { params: { path: { id } }, body: changes }));
  know(saved);
  return saved;
}

/** Copies a campaign into a draft. */
export async function duplicate(id: string): Promise<Campaign> {
  const copy = await call(api.POST('/campaigns/{id}/duplicate', { params: { path: { id } } }));
  know(copy);
  return copy;
}
