import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { asked } from '#/api/reach';

/** A workflow in a list. */
export type WorkflowItem = Schemas['WorkflowListItem'];
/** A workflow as it is edited, with its steps and the ways between them. */
export type Workflow = Schemas['WorkflowDetail'];
/** A pass of a contact through a workflow, in a list. */
export type Execution = Schemas['ExecutionListItem'];
/** How an execution stands. */
export type ExecutionStatus = Schemas['ExecutionStatus'];

/** Figures and executions are asked for again after so many milliseconds while they are in sight. */
export const REFRESH_MS = 10_000;
/** A job is asked for its state again after so many milliseconds. */
const JOB_MS = 800;

/** By what workflows are sorted. */
export const SORTS = ['createdAt', 'updatedAt', 'name', 'steps'] as const;

/** A workflow as it is edited. */
export const workflow = (id: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}', { params: { path: { id } }, signal })),
  });

/** Figures of a workflow and of its steps. */
export const stats = (id: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'stats'),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/stats', { params: { path: { id } }, signal })),
    refetchInterval: REFRESH_MS,
  });

/** The versions of a workflow, the newest first. */
export const versions = (id: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'versions'),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/versions', { params: { path: { id } }, signal })),
  });

/** An execution with what its steps did. One that goes on is asked for again. */
export const execution = (id: string, executionId: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'execution', executionId),
    queryFn: ({ signal }) =>
      call(api.GET('/workflows/{id}/executions/{executionId}', { params: { path: { id, executionId } }, signal })),
    refetchInterval: ({ state }) => (state.data && !isActive(state.data.status) ? false : REFRESH_MS),
  });

/** Whether there is more to come. */
export const isActive = (status: ExecutionStatus): boolean => status === 'RUNNING' || status === 'WAITING';

/** Everything that was decided about a contact, by its id or address. */
export const why = (id: string, contact: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'why', contact),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/why', { params: { path: { id }, query: { contact } }, signal })),
    refetchInterval: REFRESH_MS,
  });

/** The fields that conditions can look at. */
export const fields = (eventName: string) =>
  queryOptions({
    queryKey: projectKey('workflows', 'fields', eventName),
    queryFn: ({ signal }) =>
      call(api.GET('/workflows/fields', { params: { query: eventName ? { eventName } : {} }, signal })),
    staleTime: 60_000,
  });

/** Templates whose name has a text in it, the last changed first. */
export const templates = (search: string) =>
  queryOptions({
    queryKey: projectKey('templates', 'pick', search),
    queryFn: ({ signal }) =>
      call(api.GET('/templates', { params: { query: { pageSize: 20, ...(search ? { search } : {}) } }, signal })),
    placeholderData: keepPreviousData,
  });

/** Contacts whose address has a text in it. */
export const contacts = (search: string) =>
  queryOptions({
    queryKey: projectKey('contacts', 'pick', search),
    queryFn: ({ signal }) =>
      call(api.GET('/contacts', { params: { query: { limit: 10, ...(search ? { search } : {}) } }, signal })),
    placeholderData: keepPreviousData,
  });

const isOver = (state: string | undefined): boolean => state === 'completed' || state === 'failed';

/** How the enrolment of a segment goes. */
export const enrolment = (id: string, jobId: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'enrol', jobId),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/enrol/{jobId}', { params: { path: { id, jobId } }, signal })),
    refetchInterval: ({ state }) => (isOver(state.data?.state) ? false : JOB_MS),
  });

/** How a migration goes. */
export const migration = (id: string, jobId: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'migrate', jobId),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/migrate/{jobId}', { params: { path: { id, jobId } }, signal })),
    refetchInterval: ({ state }) => (isOver(state.data?.state) ? false : JOB_MS),
  });

/** How a rehearsal goes. */
export const rehearsal = (id: string, jobId: string) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'simulate', jobId),
    queryFn: ({ signal }) => call(api.GET('/workflows/{id}/simulate/{jobId}', { params: { path: { id, jobId } }, signal })),
    refetchInterval: ({ state }) => (isOver(state.data?.state) ? false : JOB_MS),
  });

/** Which executions on earlier versions would move to the version in force. */
export const migrationPreview = (id: string, version: number) =>
  queryOptions({
    queryKey: projectKey('workflows', id, 'migration-preview', version),
    queryFn: ({ signal }) =>
      call(api.POST('/workflows/{id}/migrate', { params: { path: { id } }, body: { dryRun: true }, signal, fetch: asked })),
    refetchInterval: REFRESH_MS,
  });

/** Asks again for everything about workflows, or about one. */
export const refresh = (id?: string): Promise<void> =>
  queries.invalidateQueries({ queryKey: id ? projectKey('workflows', id) : projectKey('workflows') });
