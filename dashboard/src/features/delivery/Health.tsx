import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { useProject } from '#/features/project/open';
import { number, percent } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, type Tone } from '#/ui/status';
import { Table } from '#/ui/table';
import { security } from './queries';
import { receptionText } from './reception';
import { t } from './texts';

type Level = Schemas['LevelsView']['bounce7Day'];
const TONES: Record<Level, Tone> = { healthy: 'good', warning: 'warn', critical: 'bad' };

interface Line {
  name: string;
  rates: Schemas['RatesView'];
  bounce?: Level;
  complaint?: Level;
}

function Rate({ rate, count, level }: { rate: number; count: number; level: Level | undefined }) {
  return (
    <span className="inline-flex flex-wrap items-baseline justify-end gap-x-2">
      <span className="text-muted">{number(count)}</span>
      {percent(rate / 100)}
      {level && <Status tone={TONES[level]}>{t.levels[level]}</Status>}
    </span>
  );
}

/** The bounces and complaints of the project, and how near they are to its limits. */
export function Health() {
  const { data, error, refetch } = useQuery(security(useProject().id));
  const lines: Line[] = data
    ? [
        { name: t.week, rates: data.status.sevenDay, bounce: data.levels.bounce7Day, complaint: data.levels.complaint7Day },
        { name: t.ever, rates: data.status.allTime, bounce: data.levels.bounceAllTime, complaint: data.levels.complaintAllTime },
      ]
    : [];
  const words = data ? [...data.status.violations, ...data.status.warnings] : [];
  return (
    <Section
      title={t.health}
      lead={t.healthText}
      actions={
        <TextLink to="/settings" search={{ tab: 'security' }}>
          {t.healthMore}
        </TextLink>
      }
    >
      {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={4} />}
      {data && (
        <div className="space-y-3">
          <div>
            {data.isDisabled && <Status tone="bad">{t.disabled}</Status>}
            {!data.isDisabled && words.length === 0 && <Status tone="good">{t.healthy}</Status>}
            {words.map((word) => (
              <p key={word}>
                <Status tone={data.status.violations.includes(word) ? 'bad' : 'warn'}>{receptionText(word)}</Status>
              </p>
            ))}
          </div>
          <Table
            label={t.health}
            rows={lines}
            rowKey={(line) => line.name}
            columns={[
              { name: t.period, cell: (line) => line.name },
              { name: t.mails, right: true, cell: (line) => number(line.rates.total) },
              { name: t.bounces, right: true, cell: (line) => <Rate rate={line.rates.bounceRate} count={line.rates.bounces} level={line.bounce} /> },
              { name: t.complaints, right: true, cell: (line) => <Rate rate={line.rates.complaintRate} count={line.rates.complaints} level={line.complaint} /> },
            ]}
          />
        </div>
      )}
    </Section>
  );
}
