import { useMemo } from 'react';
import { dayName, shortDay } from '#/i18n/format';
import { go } from '#/router';
import { TextLink } from '#/ui/button';
import { Chart, type ChartPoint, type ChartSeries } from '#/ui/chart';
import { formatOf, type Measure, RULES, valueOn } from './measures';
import type { Day } from './queries';
import { t } from './texts';

/** A measure by day, with the period before in dashes. A day leads to its entries in the feed. */
export function Drawing({
  days,
  before,
  measure,
  range,
}: {
  days: readonly Day[];
  before: readonly Day[] | undefined;
  measure: Measure;
  /** The period as addresses have it. */
  range: string;
}) {
  const points = useMemo<ChartPoint[]>(
    () => days.map((day) => ({ short: shortDay(day.day), long: dayName(day.day) })),
    [days],
  );
  const series = useMemo<ChartSeries[]>(() => {
    const now: ChartSeries = {
      name: before ? t.thisPeriod : t.measures[measure],
      values: days.map((day) => valueOn(day, measure)),
      tone: RULES[measure].isBad ? 'bad' : 'accent',
      filled: true,
    };
    if (!before) return [now];
    const values = days.map((_, index) => {
      const day = before[index];
      return day ? valueOn(day, measure) : null;
    });
    return [now, { name: t.periodBefore, values, tone: 'muted', dashed: true }];
  }, [days, before, measure]);
  const types = RULES[measure].types;
  const pick = (index: number) => {
    const day = days[index]?.day;
    if (day) go('/activity', { search: { types, range: `${day}_${day}` } });
  };
  return (
    <div className="rounded-card border border-line bg-panel p-4">
      <Chart
        label={t.chartOf(t.measures[measure])}
        points={points}
        series={series}
        format={formatOf(measure)}
        onPick={pick}
      />
      <p className="mt-2 flex flex-wrap justify-between gap-2 text-meta text-muted">
        <TextLink to="/activity" search={{ types, range }}>
          {t.showRows}
        </TextLink>
        <span className="max-sm:hidden">{t.pickHint}</span>
      </p>
    </div>
  );
}
