import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isUnreported } from '#/features/analytics/reported';
import { days, type Day } from '#/features/analytics/queries';
import { now } from '#/i18n/clock';
import { number } from '#/i18n/format';
import { Link } from '#/router';
import { TextLink } from '#/ui/button';
import { Figure, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { t } from './texts';

/** How many days are summed, and as many before to compare. */
const DAYS = 7;
const DAY_MS = 86_400_000;
const MEASURES = ['sent', 'delivered', 'opens', 'clicks', 'bounces', 'unsubscribes'] as const satisfies readonly (keyof Day)[];

const sum = (of: readonly Day[], measure: (typeof MEASURES)[number]) => of.reduce((all, day) => all + day[measure], 0);

const spanUntil = (end: number) => ({
  startDate: new Date(end - (2 * DAYS - 1) * DAY_MS).toISOString(),
  endDate: new Date(end).toISOString(),
});

/** The figures of the last days, beside those of as many days before. */
export function LastDays() {
  // that of the moment when the page was opened
  const [span] = useState(() => spanUntil(now()));
  const found = useQuery(days(span));
  const all = found.data ?? [];
  const last = all.slice(-DAYS);
  const before = all.slice(0, -DAYS).slice(-DAYS);
  const isUnknown = (measure: (typeof MEASURES)[number]) => measure === 'delivered' && isUnreported(sum(all, 'delivered'), sum(all, 'sent'));
  return (
    <Section
      title={t.lastDays}
      actions={
        <TextLink to="/analytics" search={{ range: '7d' }}>
          {t.analytics}
        </TextLink>
      }
    >
      {found.error && !found.data ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !found.data ? (
        <Skeleton rows={3} />
      ) : (
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
          {MEASURES.map((measure) => (
            <Link key={measure} to="/analytics" search={{ range: '7d' }} current={false} className="rounded-card hover:opacity-90">
              <Figure
                name={t.measures[measure]}
                value={isUnknown(measure) ? '–' : number(sum(last, measure))}
                note={isUnknown(measure) ? t.notReported : t.before(sum(before, measure))}
              />
            </Link>
          ))}
        </div>
      )}
    </Section>
  );
}
