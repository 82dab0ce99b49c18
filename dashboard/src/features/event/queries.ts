import { queryOptions } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';

/** The names of events that happened. */
export const eventNames = () =>
  queryOptions({
    queryKey: projectKey('events', 'names'),
    queryFn: async ({ signal }) => (await call(api.GET('/events/names', { signal }))).eventNames,
    staleTime: 60_000,
  });

/** How often the events of each name happened. */
export const eventCounts = () =>
  queryOptions({
    queryKey: projectKey('events', 'counts'),
    queryFn: ({ signal }) => call(api.GET('/events/stats', { signal })),
  });

/** What refers to an event name, and how often it happened. */
export const eventUsage = (eventName: string) =>
  queryOptions({
    queryKey: projectKey('events', eventName, 'usage'),
    queryFn: ({ signal }) => call(api.GET('/events/{eventName}/usage', { params: { path: { eventName } }, signal })),
  });
