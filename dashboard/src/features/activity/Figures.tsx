import { useQuery } from '@tanstack/react-query';
import { number, percent } from '#/i18n/format';
import { Link } from '#/router';
import { stats } from './queries';
import { t } from './texts';

/** The sums of a period. Each leads to its entries. */
export function Figures({ span, range }: { span: { startDate: string; endDate: string }; range: string }) {
  const { data } = useQuery(stats(span));
  const rows: readonly [name: string, value: number | undefined, share: number | undefined, types: string][] = [
    [t.sent, data?.totalEmailsSent, undefined, 'email.sent'],
    [t.opened, data?.totalEmailsOpened, data?.openRate, 'email.opened'],
    [t.clicked, data?.totalEmailsClicked, data?.clickRate, 'email.clicked'],
    [t.events, data?.totalEvents, undefined, 'event.triggered'],
    [t.workflows, data?.totalWorkflowsStarted, undefined, 'workflow.started'],
  ];
  return (
    <section
      aria-label={t.figures}
      className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-5"
    >
      {rows.map(([name, value, share, types]) => (
        <Link
          key={types}
          to="/activity"
          current={false}
          search={{ types, range: range || '30d' }}
          className="min-w-0 bg-panel px-3 py-2 hover:bg-raised focus-visible:outline-offset-[-2px] max-sm:last:col-span-2"
        >
          <span className="block truncate text-muted">{name}</span>
          <span className="flex items-baseline gap-2">
            <span className="tabular text-section font-semibold">{value === undefined ? '–' : number(value)}</span>
            {share !== undefined && <span className="tabular text-meta text-muted">{percent(share / 100)}</span>}
          </span>
          <span className="block text-meta text-muted">{range ? t.ofPeriod : t.lastDays}</span>
        </Link>
      ))}
    </section>
  );
}
