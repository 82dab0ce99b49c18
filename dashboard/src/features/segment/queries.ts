import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { asked } from '#/api/reach';
import type { FilterTree } from './builder/tree';

/** A segment as the API shows it. */
export type Segment = Schemas['SegmentView'];

/** All segments of the project, the newest first. */
export const segments = () =>
  queryOptions({
    queryKey: projectKey('segments', 'all'),
    queryFn: ({ signal }) => call(api.GET('/segments', { signal })),
    staleTime: 30_000,
  });

/** A segment. */
export const segment = (id: string) =>
  queryOptions({
    queryKey: projectKey('segments', 'one', id),
    queryFn: ({ signal }) => call(api.GET('/segments/{id}', { params: { path: { id } }, signal })),
  });

/** How many members a page shows. */
export const MEMBERS = 50;

/** A page of the members of a segment, counted from 1. */
export const members = (id: string, page: number) =>
  queryOptions({
    queryKey: projectKey('segments', 'one', id, 'members', page),
    queryFn: ({ signal }) =>
      call(api.GET('/segments/{id}/contacts', { params: { path: { id }, query: { page, pageSize: MEMBERS } }, signal })),
  });

/** Who meets a condition now, with the newest of them. A request that was overtaken ends at once. */
export const preview = (condition: FilterTree) =>
  queryOptions({
    queryKey: projectKey('segments', 'preview', JSON.stringify(condition)),
    queryFn: ({ signal }) => call(api.POST('/segments/preview', { body: { condition, sample: 5 }, signal, fetch: asked })),
    staleTime: 30_000,
    retry: false,
  });

/** How the size of a segment changed: a row for each day, the oldest first. */
export const history = (id: string) =>
  queryOptions({
    queryKey: projectKey('segments', 'one', id, 'history'),
    queryFn: ({ signal }) => call(api.GET('/segments/{id}/history', { params: { path: { id }, query: { days: 90 } }, signal })),
    staleTime: 60_000,
  });
