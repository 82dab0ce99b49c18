import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import type { CursorSource } from '#/ui/cursor-rows';

/** An address that gets no mail. */
export type SuppressedAddress = Schemas['SuppressedAddress'];
/** A rule that holds mail back. */
export type Rule = Schemas['SuppressionRuleView'];
/** Why an address is on the list. */
export type Reason = Schemas['SuppressionReason'];

/** The rules of the project. */
export const rules = () =>
  queryOptions({
    queryKey: projectKey('suppressions', 'rules'),
    queryFn: async ({ signal }) => (await call(api.GET('/suppressions', { signal }))).rules,
  });

/** The list of addresses, by a part of the address and by reason. */
export function addresses(search: string, reason: string): CursorSource<SuppressedAddress> {
  return {
    key: projectKey('suppressions', 'addresses', search, reason),
    pageSize: 100,
    fetch: (cursor, signal) =>
      call(
        api.GET('/suppressions/addresses', {
          params: {
            query: {
              limit: 100,
              ...(cursor ? { cursor } : {}),
              ...(search ? { search } : {}),
              ...(reason ? { reason: reason as Reason } : {}),
            },
          },
          signal,
        }),
      ),
  };
}
