import { queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { asked } from '#/api/reach';
import { type Draft, sourceOf } from './draft.ts';

/** What there is to say about a mail. */
export type Report = Schemas['CheckView'];
/** One thing that is wrong with a mail, or could be better. */
export type MailProblem = Schemas['MailProblem'];
/** The type of a template or campaign. */
export type MailType = Schemas['TemplateType'];

/** After how many milliseconds without a change a mail is checked and shown again. */
const SETTLES_MS = 400;

/** A value once it has not changed for a moment. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (Object.is(value, settled)) return;
    const timer = setTimeout(() => setSettled(value), SETTLES_MS);
    return () => clearTimeout(timer);
  }, [value, settled]);
  return settled;
}

const report = (draft: Draft, type: MailType, topicId: string | undefined) =>
  queryOptions({
    queryKey: projectKey('mail-check', type, topicId, draft),
    queryFn: ({ signal }) => {
      const body = { subject: draft.subject, ...sourceOf(draft.content), type, ...(topicId ? { topicId } : {}) };
      return call(api.POST('/templates/check', { body, signal, fetch: asked }));
    },
    staleTime: 60_000,
    gcTime: 10_000,
    placeholderData: (before) => before,
  });

/** What there is to say about a mail, a moment after each change. */
export function useReport(draft: Draft, type: MailType, topicId?: string) {
  return useQuery(report(useSettled(draft), type, topicId));
}
