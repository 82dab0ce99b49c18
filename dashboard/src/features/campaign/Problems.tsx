import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { duration, number } from '#/i18n/format';
import { Button, TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { Words } from '#/ui/words';
import { PartLink } from './parts';
import { review } from './queries';
import { t as reviewTexts } from './review-texts';
import { t } from './texts';

type Found = Schemas['ReviewProblem'];

/** The part of the campaign's page where a problem is mended. */
const PLACES: Partial<Record<Found['code'], 'content' | 'settings' | 'audience'>> = {
  INVALID_TEMPLATE: 'content',
  NO_UNSUBSCRIBE_LINK: 'content',
  MISSING_VALUES: 'content',
  CONSTANT_CONDITION: 'content',
  DEAD_LINK: 'content',
  CLIPPED: 'content',
  INVALID_AUDIENCE: 'audience',
  EMPTY_AUDIENCE: 'audience',
  UNCOUNTED_AUDIENCE: 'audience',
  EMPTY_TOPIC: 'settings',
  SENDER_UNVERIFIED: 'settings',
};

/** What would go wrong if the campaign were sent now, each with the way to where it is mended. */
export function Problems({ id, onTest }: { id: string; onTest: () => void }) {
  const found = useQuery(review(id));
  const { data } = found;
  return (
    <Section title={t.problems} lead={data?.estimate ? t.takes(duration(data.estimate.seconds * 1000), number(Math.round(data.estimate.perSecond))) : undefined}>
      {found.error && !data ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !data ? (
        <Skeleton rows={2} />
      ) : data.problems.length === 0 ? (
        <Status tone="good">{t.noProblems}</Status>
      ) : (
        <ul className="divide-y divide-line">
          {data.problems.map((problem) => (
            <li
              key={`${problem.code} ${problem.field ?? ''} ${problem.message}`}
              className="grid items-baseline gap-x-4 gap-y-1 py-2 first:pt-0 last:pb-0 sm:grid-cols-[5rem_minmax(0,1fr)_auto]"
            >
              <Status tone={problem.severity === 'error' ? 'bad' : 'warn'}>{t.severities[problem.severity]}</Status>
              <div className="min-w-0 break-words">
                <p><Words text={reviewTexts.words({ problem, missing: data.missingValues })} /></p>
                {problem.code === 'MISSING_VALUES' && data.missingValues.variables.length > 1 && <Missing values={data.missingValues} />}
              </div>
              <Mend id={id} code={problem.code} onTest={onTest} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Missing({ values }: { values: Schemas['MissingValues'] }) {
  return (
    <ul className="mt-1 space-y-0.5">
      {values.variables.map((one) => (
        <li key={one.name}>
          <code className="font-mono text-meta break-all">{one.name}</code>{' '}
          <span className="text-muted">{t.lacking(one.count, values.sampleSize)}</span>
        </li>
      ))}
    </ul>
  );
}

function Mend({ id, code, onTest }: { id: string; code: Found['code']; onTest: () => void }) {
  if (code === 'NEVER_TESTED' || code === 'CHANGED_SINCE_TEST') {
    return (
      <Button size="small" onClick={onTest} className="justify-self-start">
        {t.test}
      </Button>
    );
  }
  if (code === 'NO_TRACKING_HOST') {
    return (
      <TextLink to="/settings" search={{ tab: 'domains' }}>
        {t.openDomains}
      </TextLink>
    );
  }
  if (code === 'OVER_LIMIT') {
    return (
      <TextLink to="/settings" search={{ tab: 'billing' }}>
        {t.openLimits}
      </TextLink>
    );
  }
  const place = PLACES[code];
  return place ? (
    <PartLink id={id} part={place}>
      {t.mend[place]}
    </PartLink>
  ) : null;
}
