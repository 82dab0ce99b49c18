import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { look, type Mapping } from './upload';

/** An import, how far it is, and what came of it. */
export type ImportJob = Schemas['JobView_ImportResult'];

/** How often an import is asked how far it is, in milliseconds. */
const ASK_MS = 500;

/** Whether an import is over. */
export function isOver(job: Pick<ImportJob, 'state'>): boolean {
  return job.state === 'completed' || job.state === 'failed';
}

/** An import, asked again and again until it is over. */
export const importJob = (id: string) =>
  queryOptions({
    queryKey: projectKey('imports', id),
    queryFn: ({ signal }) => call(api.GET('/contacts/import/{jobId}', { params: { path: { jobId: id } }, signal })),
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? false : ASK_MS),
  });

/** The last imports of the project, newest first. */
export const recentImports = () =>
  queryOptions({
    queryKey: projectKey('imports'),
    queryFn: async ({ signal }) => (await call(api.GET('/contacts/import', { signal }))).data,
    staleTime: 0,
  });

/** What an import would make of a file. */
export const previewOf = (file: File, mapping: Mapping | undefined) =>
  queryOptions({
    queryKey: projectKey('imports', 'preview', file.name, file.size, file.lastModified, JSON.stringify(mapping)),
    queryFn: ({ signal }) => look(file, mapping, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
