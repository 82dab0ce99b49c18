import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import type { VersionSource } from './versions';

/** A template as lists show it. */
export type ListedTemplate = Schemas['TemplatePage']['data'][number];
/** A template with what it is made from. */
export type Template = Schemas['EditedView_TemplateView'];
/** The type of a template. */
export type TemplateType = Schemas['TemplateType'];

/** How many templates stand on a page. */
export const PAGE_SIZE = 20;
/** How many versions are listed: all that are kept. */
const VERSIONS = 50;

/** By what templates are sorted, and which way. */
export const SORTS = {
  newest: { sort: 'createdAt', dir: 'desc' },
  changed: { sort: 'updatedAt', dir: 'desc' },
  name: { sort: 'name', dir: 'asc' },
} as const;

/** A page of the list. */
export const templates = (filter: { search: string; type: TemplateType | ''; sort: keyof typeof SORTS; page: number }) =>
  queryOptions({
    queryKey: projectKey('templates', 'list', filter),
    queryFn: ({ signal }) => {
      const { search, type, sort, page } = filter;
      const query = { page, pageSize: PAGE_SIZE, ...SORTS[sort], ...(search ? { search } : {}), ...(type ? { type } : {}) };
      return call(api.GET('/templates', { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
  });

/** A template. */
export const template = (id: string) =>
  queryOptions({
    queryKey: projectKey('templates', 'one', id),
    queryFn: ({ signal }) => call(api.GET('/templates/{id}', { params: { path: { id } }, signal })),
  });

/** What became of the mails of a template. */
export const templateStats = (id: string) =>
  queryOptions({
    queryKey: projectKey('templates', 'stats', id),
    queryFn: ({ signal }) => call(api.GET('/templates/{id}/stats', { params: { path: { id } }, signal })),
    staleTime: 60_000,
  });

/** What refers to a template. */
export const templateUsage = (id: string) =>
  queryOptions({
    queryKey: projectKey('templates', 'usage', id),
    queryFn: ({ signal }) => call(api.GET('/templates/{id}/usage', { params: { path: { id } }, signal })),
  });

/** The former versions of templates. */
export const templateVersions: VersionSource<Template> = {
  key: (id) => projectKey('templates', 'versions', id),
  list: (id, signal) =>
    call(api.GET('/templates/{id}/versions', { params: { path: { id }, query: { limit: VERSIONS } }, signal })),
  one: (id, number, signal) =>
    call(api.GET('/templates/{id}/versions/{number}', { params: { path: { id, number } }, signal })),
  restore: (id, number) => call(api.POST('/templates/{id}/versions/{number}/restore', { params: { path: { id, number } } })),
};

/** Puts a template that the API answered into what is known, and has the lists read again. */
export function knowTemplate(known: Template): void {
  queries.setQueryData(template(known.id).queryKey, known);
  void queries.invalidateQueries({ queryKey: projectKey('templates', 'list') });
  void queries.invalidateQueries({ queryKey: projectKey('templates', 'versions', known.id) });
}

/** Saves what changed of a template. */
export async function saveTemplate(id: string, changes: Schemas['UpdateTemplateRequest']): Promise<Template> {
  const saved = await call(api.PATCH('/templates/{id}', { params: { path: { id } }, body: changes }));
  knowTemplate(saved);
  return saved;
}
