import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { sentence } from '#/features/segment/builder/sentence';
import { read } from '#/features/segment/builder/tree';
import { useVocabulary } from '#/features/segment/builder/vocabulary';
import { segments } from '#/features/segment/queries';
import { TextLink } from '#/ui/button';
import { readChoice } from './audience-choice';
import type { Listed } from './queries';
import { t } from './texts';

/** Whom a campaign goes to, in words, as rows of facts. */
export function useReached(campaign: Listed): (readonly [name: string, value: ReactNode])[] {
  const { data: all } = useQuery(segments());
  const vocabulary = useVocabulary();
  const choice = readChoice(campaign);
  const { condition } = choice;
  const words = condition ? sentence(read(condition), vocabulary) : '';
  const named = (id: string) => (
    <TextLink key={id} to={`/segments/${id}`}>
      {all?.find((one) => one.id === id)?.name ?? id}
    </TextLink>
  );
  const base = choice.base === 'ALL' ? t.bases.ALL[0] : choice.base === 'SEGMENT' ? named(choice.segmentId) : words;
  const rows: (readonly [string, ReactNode])[] = [[t.goesTo, base]];
  if (choice.without.length > 0) {
    rows.push([
      t.without,
      <span key="without" className="flex flex-wrap gap-x-3">
        {choice.without.map(named)}
      </span>,
    ]);
  }
  return rows;
}
