import { queryOptions } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';

/** What waits, by the domains of the recipients and by lanes. */
export const sites = () =>
  queryOptions({
    queryKey: projectKey('delivery', 'sites'),
    queryFn: ({ signal }) => call(api.GET('/delivery/sites', { signal })),
    refetchInterval: 10_000,
  });

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
