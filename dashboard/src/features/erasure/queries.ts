import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** The receipt of an erasure. */
export type Receipt = Schemas['ErasureReceipt'];

/** How often a running erasure is looked at, in milliseconds. */
const LOOK_MS = 1_000;

/** A receipt. It is asked for again until the erasure is complete. */
export const receipt = (id: string) =>
  queryOptions({
    queryKey: projectKey('erasures', id),
    queryFn: ({ signal }) => call(api.GET('/erasures/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.status === 'RUNNING' ? LOOK_MS : false),
  });
