import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** What receivers report of a domain's mail. */
export type DmarcReports = Schemas['DmarcView'];
/** Where mail of a domain came from. */
export type Source = DmarcReports['sources'][number];
/** What a domain asks receivers to do with mail that fails. */
export type Policy = Schemas['DmarcPolicy'];

/** What receivers report of a domain's mail of so many days. */
export const reports = (domain: string, days: number) =>
  queryOptions({
    queryKey: projectKey('dmarc', domain, days),
    queryFn: ({ signal }) =>
      call(api.GET('/domains/{id}/dmarc', { params: { path: { id: domain }, query: { days } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
