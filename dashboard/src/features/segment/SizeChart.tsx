import { useQuery } from '@tanstack/react-query';
import { day, number } from '#/i18n/format';
import { Chart } from '#/ui/chart';
import { Section } from '#/ui/page';
import { history } from './queries';
import { t } from './texts';

const short = (date: string) => date.slice(5);

/** How the size of a segment changed. Nothing until there are two days to compare. */
export function SizeChart({ segment }: { segment: string }) {
  const { data } = useQuery(history(segment));
  if (!data || data.length < 2) return null;
  return (
    <Section title={t.history} lead={t.historyLead}>
      <Chart
        label={t.history}
        points={data.map((one) => ({ short: short(one.day), long: day(one.day) }))}
        series={[{ name: t.members, values: data.map((one) => one.memberCount), tone: 'accent', filled: true }]}
        format={number}
        height={140}
      />
    </Section>
  );
}
