import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { isUnreported } from '#/features/analytics/reported';
import { Held } from '#/features/delivery/Held';
import { duration, number } from '#/i18n/format';
import { Link } from '#/router';
import { Figure, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Skeleton } from '#/ui/skeleton';
import { audienceOf, terms } from './ledger';
import { LedgerLine } from './LedgerLine';
import { Links } from './Links';
import { usePace } from './pace';
import { type Campaign, ledger, stats } from './queries';
import { t } from './texts';

type Stats = Schemas['CampaignStats'];

/** The figures, each with the kind of activity that lists it. */
const FIGURES = [
  { name: 'delivered', type: 'email.delivered', count: 'deliveredCount', machines: undefined },
  { name: 'opened', type: 'email.opened', count: 'openedCount', machines: 'machineOpenedCount' },
  { name: 'clicked', type: 'email.clicked', count: 'clickedCount', machines: 'machineClickedCount' },
  { name: 'bounced', type: 'email.bounced', count: 'bouncedCount', machines: undefined },
  { name: 'complained', type: 'email.complaint', count: 'complainedCount', machines: undefined },
  { name: 'unsubscribed', type: 'email.unsubscribed', count: 'unsubscribedCount', machines: undefined },
] as const;

/** How a campaign is getting on, and what became of it. */
export function Results({ campaign }: { campaign: Campaign }) {
  const isLive = campaign.status === 'SENDING';
  const sums = useQuery(ledger(campaign.id));
  const figures = useQuery(stats(campaign.id, isLive));
  if (sums.error && !sums.data) return <Problem error={sums.error} onRetry={() => void sums.refetch()} />;
  if (!sums.data || !figures.data) return <Skeleton rows={6} />;
  const line = terms(sums.data.totals);
  const all = audienceOf(line);
  const waiting = line.find((term) => term.state === 'WAITING')?.count ?? 0;
  const of = figures.data;
  return (
    <div className="space-y-4">
      <Section title={t.progress} lead={t.ledgerText}>
        <div className="space-y-2">
          {isLive && all > 0 && <Progress value={((all - waiting) / all) * 100} label={t.progress} />}
          <LedgerLine id={campaign.id} terms={line} />
          {isLive && (
            <p className="tabular text-muted">
              <span role="status">{campaign.pausedAt ? t.pausedText : sums.data.frozen ? t.frozen : t.freezing}</span>{' '}
              {!campaign.pausedAt && <Pace settled={all - waiting} waiting={waiting} at={sums.dataUpdatedAt} isWhole={sums.data.frozen} />}
            </p>
          )}
        </div>
      </Section>
      <Held campaign={campaign.id} />
      <section aria-label={t.figuresName} className="grid grid-cols-2 gap-3 lg:grid-cols-3">
        {FIGURES.map((shown) => (
          <Outcome key={shown.name} id={campaign.id} of={of} {...shown} />
        ))}
      </section>
      <Links id={campaign.id} />
    </div>
  );
}

type OutcomeProps = (typeof FIGURES)[number] & { id: string; of: Stats };

/** One figure: how many, what share of those sent, and the way to the activity behind it. */
function Outcome({ id, of, name, type, count, machines }: OutcomeProps) {
  if (name === 'delivered' && isUnreported(of.deliveredCount, of.sentCount)) {
    return <Figure name={t.figures.delivered} value="–" note={t.notReported} />;
  }
  const value =
    of[count] > 0 ? (
      <Link to="/activity" search={{ campaign: id, types: type }} className="underline-offset-4 hover:underline">
        {number(of[count])}
        <span className="sr-only">{` ${t.figures[name]}`}</span>
      </Link>
    ) : (
      number(of[count])
    );
  const notes = [of.sentCount > 0 && t.ofSent(of[count] / of.sentCount), machines && of[machines] > 0 && t.machines(of[machines])];
  return <Figure name={t.figures[name]} value={value} note={notes.filter(Boolean).join(', ')} />;
}

/** How fast mails leave, and how long the rest takes at that pace. */
function Pace({ settled, waiting, at, isWhole }: { settled: number; waiting: number; at: number; isWhole: boolean }) {
  const pace = usePace(settled, at);
  if (!pace) return null;
  return <>{t.pace(number(Math.max(1, Math.round(pace))), isWhole ? duration(Math.max(1, waiting / pace) * 1000) : undefined)}</>;
}
