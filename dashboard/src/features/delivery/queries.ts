import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';

/** The mails to a domain that wait. */
export type Site = Schemas['SiteView'];
/** What is wanted with mail that waits. */
export type Intervention = Schemas['InterventionView'];

/** What waits, by the domains of the recipients and by lanes. */
export const sites = () =>
  queryOptions({
    queryKey: projectKey('delivery', 'sites'),
    queryFn: ({ signal }) => call(api.GET('/delivery/sites', { signal })),
    refetchInterval: 10_000,
  });

/** What is wanted with mail of the project that waits: what pauses it, sends it another way, or gives it up. */
export const interventions = () =>
  queryOptions({
    queryKey: projectKey('delivery', 'interventions'),
    queryFn: ({ signal }) => call(api.GET('/delivery/interventions', { signal })),
    refetchInterval: 10_000,
  });

/** Reads anew what waits, once something else is wanted with it. */
export function reloadWaiting(): Promise<unknown> {
  return Promise.all([
    queries.invalidateQueries({ queryKey: projectKey('delivery') }),
    queries.invalidateQueries({ queryKey: projectKey('emails') }),
  ]);
}

/** The first mails that a restore holds, of the project or of one campaign, and how many there are. */
export const held = (campaignId = '') =>
  queryOptions({
    queryKey: projectKey('delivery', 'held', campaignId),
    queryFn: ({ signal }) =>
      call(api.GET('/held', { params: { query: { limit: 20, ...(campaignId ? { campaignId } : {}) } }, signal })),
  });

/** How well the project's mail is received. */
export const security = (project: string) =>
  queryOptions({
    queryKey: projectKey('delivery', 'security'),
    queryFn: ({ signal }) =>
      call(api.GET('/users/@me/projects/{id}/security', { params: { path: { id: project } }, signal })),
    staleTime: 30_000,
  });
