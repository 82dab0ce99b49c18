import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, call, rawRequest, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';

/** A day of the series. */
export type Day = Schemas['DayView'];
/** From when on and before when. */
export interface Span {
  startDate: string;
  endDate: string;
}

/** How many rows a table shows at most. */
const MOST = 25;

/** The rows of an answer; the document has CSV beside them, which is only answered to who asks for it. */
async function rows<T>(answer: Promise<T>): Promise<Exclude<T, string>> {
  const given = await answer;
  if (typeof given === 'string') throw new TypeError('Rows were asked for, and text came.');
  return given as Exclude<T, string>;
}

/** The days of a period. */
export const days = (span: Span) =>
  queryOptions({
    queryKey: projectKey('analytics', 'days', span),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/timeseries', { params: { query: span }, signal }))),
    placeholderData: keepPreviousData,
  });

/** The campaigns that most people opened. */
export const campaigns = (span: Span) =>
  queryOptions({
    queryKey: projectKey('analytics', 'campaigns', span),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/top-campaigns', { params: { query: { ...span, limit: MOST } }, signal }))),
    placeholderData: keepPreviousData,
  });

/** The events that were recorded most often. */
export const events = (span: Span) =>
  queryOptions({
    queryKey: projectKey('analytics', 'events', span),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/top-events', { params: { query: { ...span, limit: MOST } }, signal }))),
    placeholderData: keepPreviousData,
  });

/** The links that people clicked most. */
export const links = (span: Span) =>
  queryOptions({
    queryKey: projectKey('analytics', 'links', span),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/links', { params: { query: { ...span, limit: MOST } }, signal }))),
    placeholderData: keepPreviousData,
  });

/** What became of mails, by the domain of their recipients. */
export const domains = (span: Span) =>
  queryOptions({
    queryKey: projectKey('analytics', 'domains', span),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/domains', { params: { query: { ...span, limit: MOST } }, signal }))),
    placeholderData: keepPreviousData,
  });

/** How many contacts of a month opened mails in the months since. */
export const cohorts = () =>
  queryOptions({
    queryKey: projectKey('analytics', 'cohorts'),
    queryFn: ({ signal }) => rows(call(api.GET('/analytics/cohorts', { params: { query: {} }, signal }))),
  });

/** Saves figures as the API writes them in CSV. */
export async function downloadCsv(table: string, span: Span | undefined, name: string): Promise<void> {
  const query = span ? `?${new URLSearchParams({ ...span, limit: '50' }).toString()}` : '';
  const answer = await rawRequest(`/analytics/${table}${query}`, { headers: { accept: 'text/csv' } });
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
