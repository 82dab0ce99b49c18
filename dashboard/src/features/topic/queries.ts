import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** A topic. */
export type Topic = Schemas['TopicView'];

/** The topics of the project, in their order. */
export const topics = () =>
  queryOptions({
    queryKey: projectKey('topics'),
    queryFn: async ({ signal }) => (await call(api.GET('/topics', { signal }))).data,
  });
