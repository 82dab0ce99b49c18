import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { receptionText } from '#/features/delivery/reception';
import { minute, number, percent } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status, type Tone } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { useProject } from '../open';
import { security } from '../queries';
import { t } from './texts';

type Level = Schemas['LevelsView']['bounce7Day'];
type Suspension = Schemas['SuspensionView'];

const TONES: Record<Level, Tone> = { healthy: 'good', warning: 'warn', critical: 'bad' };

interface Rate {
  name: string;
  level: Level;
  /** In percent. */
  rate: number;
  count: number;
  of: number;
  status: string;
}

function ratesOf({ status, levels }: Schemas['SecurityView']): Rate[] {
  const { sevenDay: week, allTime: ever } = status;
  const bounce = { status: 'BOUNCED' };
  const complaint = { status: 'COMPLAINED' };
  return [
    { ...bounce, name: t.bounces7, level: levels.bounce7Day, rate: week.bounceRate, count: week.bounces, of: week.total },
    { ...bounce, name: t.bouncesEver, level: levels.bounceAllTime, rate: ever.bounceRate, count: ever.bounces, of: ever.total },
    { ...complaint, name: t.complaints7, level: levels.complaint7Day, rate: week.complaintRate, count: week.complaints, of: week.total },
    { ...complaint, name: t.complaintsEver, level: levels.complaintAllTime, rate: ever.complaintRate, count: ever.complaints, of: ever.total },
  ];
}

const RATES: readonly Column<Rate>[] = [
  { name: t.what, cell: (row) => row.name },
  { name: t.level, cell: (row) => <Status tone={TONES[row.level]}>{t.levels[row.level]}</Status> },
  { name: t.rate, right: true, cell: (row) => percent(row.rate / 100) },
  {
    name: t.counts,
    right: true,
    cell: (row) => (
      <TextLink to="/emails" search={{ status: row.status }} aria-label={`${row.name}: ${t.ofMails(number(row.count), number(row.of))}`}>
        {t.ofMails(number(row.count), number(row.of))}
      </TextLink>
    ),
  },
];

/** Why a project was disabled: in our words, or in the operator's. */
function reasonOf({ reason }: Suspension): string {
  return reason === 'PAYMENT_FAILED' ? t.paymentFailed : receptionText(reason);
}

const SUSPENSIONS: readonly Column<Suspension>[] = [
  { name: t.reason, cell: (row) => <span className="break-words">{reasonOf(row)}</span> },
  { name: t.from, cell: (row) => minute(row.startedAt) },
  {
    name: t.until,
    cell: (row) => (row.endedAt ? <Time at={row.endedAt} /> : <Status tone="bad">{t.stillDisabled}</Status>),
  },
];

/** How well a project's mail is received, what that means, and when it was disabled and why. */
export default function Security() {
  const project = useProject();
  const { data, error, refetch } = useQuery(security(project.id));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={8} />;
  const { status } = data;
  const words = [...status.violations, ...status.warnings];
  const present = data.isDisabled ? data.suspensions.find((one) => !one.endedAt) : undefined;
  const tone: Tone = data.isDisabled || !status.isHealthy ? 'bad' : words.length > 0 ? 'warn' : 'good';
  return (
    <>
      <Banner tone={tone}>
        <p className="font-medium">
          {data.isDisabled ? t.isDisabled : !status.isHealthy ? t.isCritical : words.length > 0 ? t.isWarned : t.isHealthy}
        </p>
        {present && <p className="break-words">{t.because(reasonOf(present))}</p>}
        {words.length > 0 && (
          <ul className="list-disc pl-4">
            {words.map((word) => (
              <li key={word}>{receptionText(word)}</li>
            ))}
          </ul>
        )}
      </Banner>
      <Section title={t.reception} lead={t.receptionText}>
        <Table label={t.reception} columns={RATES} rows={ratesOf(data)} rowKey={(row) => row.name} />
      </Section>
      <Section title={t.meaning}>
        <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[8rem_1fr]">
          {(['healthy', 'warning', 'critical'] as const).map((level) => (
            <div key={level} className="contents">
              <dt>
                <Status tone={TONES[level]}>{t.levels[level]}</Status>
              </dt>
              <dd>{t.meanings[level]}</dd>
            </div>
          ))}
        </dl>
        <p className="mt-3 text-muted">{t.limits}</p>
      </Section>
      <Section title={t.suspensions}>
        {data.suspensions.length === 0 ? (
          <p className="text-muted">{t.noSuspensions}</p>
        ) : (
          <Table label={t.suspensions} columns={SUSPENSIONS} rows={data.suspensions} rowKey={(row) => row.startedAt} />
        )}
      </Section>
    </>
  );
}
