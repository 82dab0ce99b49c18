import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useProject } from '#/features/project/open';
import { flag, oneOf, useSearchState } from '#/router';
import { Page } from '#/ui/page';
import { dayIn, instants, periodBefore, periodOf, range } from '#/ui/period';
import { PeriodPicker } from '#/ui/period-picker';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Checkbox } from '#/ui/form';
import { CampaignTable } from './CampaignTable';
import { Cards } from './Cards';
import { Cohorts } from './Cohorts';
import { CsvButton } from './CsvButton';
import { DomainTable } from './DomainTable';
import { Drawing } from './Drawing';
import { EventTable } from './EventTable';
import { LinkTable } from './LinkTable';
import { MEASURES } from './measures';
import { days } from './queries';
import { t } from './texts';

const SEARCH = { range, measure: oneOf(MEASURES), alone: flag };

/** What became of the project's mail in a period, against the one before. */
export default function AnalyticsPage() {
  const { timezone } = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const [today] = useState(() => dayIn(timezone));
  const named = search.range || '30d';
  const period = periodOf(named, today) ?? { from: today, to: today };
  const span = instants(period, timezone);
  const now = useQuery(days(span));
  const before = useQuery({ ...days(instants(periodBefore(period), timezone)), enabled: !search.alone });
  const earlier = search.alone ? undefined : before.data;
  return (
    <Page
      title={t.title}
      full
      lead={t.lead(timezone)}
      actions={
        <>
          <Checkbox
            label={`${t.compare} ${t.compareHint}`}
            checked={!search.alone}
            onChange={(event) => setSearch({ alone: !event.target.checked })}
          />
          <PeriodPicker value={search.range} period={period} today={today} onChange={(to) => setSearch({ range: to })} />
          <CsvButton table="timeseries" what={t.daily} span={span} />
        </>
      }
    >
      {now.error && !now.data && <Problem error={now.error} onRetry={() => void now.refetch()} />}
      {now.isPending && <Skeleton rows={9} className="min-h-96" />}
      {now.data && (
        <div className="space-y-3">
          <Cards days={now.data} before={earlier} drawn={search.measure} onDraw={(measure) => setSearch({ measure })} />
          <Drawing days={now.data} before={earlier} measure={search.measure} range={named} />
        </div>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 xl:grid-cols-[repeat(2,minmax(0,1fr))]">
        <CampaignTable span={span} />
        <EventTable span={span} range={named} />
        <div className="xl:col-span-2">
          <DomainTable span={span} />
        </div>
        <LinkTable span={span} />
        <Cohorts />
      </div>
    </Page>
  );
}
