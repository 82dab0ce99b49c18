import { queryOptions } from '@tanstack/react-query';
import { api, call, currentProject, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** Something that needs a person. */
export type AttentionItem = Schemas['AttentionItem'];

/** How often what needs a person is asked for while the page is open, in milliseconds. */
const LOOK_MS = 30_000;

/** What needs a person, the most urgent kinds first. */
export const attention = () =>
  queryOptions({
    queryKey: projectKey('attention'),
    queryFn: ({ signal }) =>
      call(api.GET('/projects/{id}/attention', { params: { path: { id: currentProject() } }, signal })),
    refetchInterval: LOOK_MS,
  });
