import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** The limits of a project, and how much of each is used. */
export type Limits = Schemas['BillingLimits'];
/** A kind of mail that has a limit. */
export type Category = 'transactional' | 'campaigns' | 'workflows' | 'inbound';

/** The kinds of mail, as they are listed. */
export const CATEGORIES: readonly Category[] = ['transactional', 'campaigns', 'workflows', 'inbound'];

/** The limits of the month, also where nothing is billed: then there are none. */
export const limits = (id: string) =>
  queryOptions({
    queryKey: projectKey('billing', 'limits'),
    queryFn: ({ signal }) => call(api.GET('/users/@me/projects/{id}/billing-limits', { params: { path: { id } }, signal })),
  });

/** What was used in this month, and the next invoice. For projects with a subscription. */
export const consumption = (id: string) =>
  queryOptions({
    queryKey: projectKey('billing', 'consumption'),
    queryFn: ({ signal }) =>
      call(api.GET('/users/@me/projects/{id}/billing-consumption', { params: { path: { id } }, signal })),
  });

/** The newest invoices. For projects that have or had a subscription. */
export const invoices = (id: string) =>
  queryOptions({
    queryKey: projectKey('billing', 'invoices'),
    queryFn: ({ signal }) =>
      call(api.GET('/users/@me/projects/{id}/billing-invoices', { params: { path: { id } }, signal })),
  });
