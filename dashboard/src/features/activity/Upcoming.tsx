import { useQuery } from '@tanstack/react-query';
import { day, minute, percent } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { numberIn, textIn } from './metadata';
import { type Coming, upcoming } from './queries';
import { t } from './texts';

function Item({ item }: { item: Coming }) {
  const { type, metadata, timestamp } = item;
  const campaign = textIn(metadata, 'campaignId');
  const workflow = textIn(metadata, 'workflowId');
  const name = textIn(metadata, 'campaignName') ?? textIn(metadata, 'workflowName') ?? textIn(metadata, 'kind') ?? '';
  const to = campaign ? `/campaigns/${campaign}` : workflow ? `/workflows/${workflow}` : undefined;
  const recipients = numberIn(metadata, 'totalRecipients');
  const executions = numberIn(metadata, 'executions');
  const progress = numberIn(metadata, 'progress');
  const notes = [
    type === 'workflow.scheduled' ? day(timestamp) : type === 'campaign.scheduled' ? minute(timestamp) : '',
    recipients === undefined ? '' : t.toRecipients(recipients),
    executions === undefined ? '' : t.goOn(executions),
    progress === undefined ? '' : t.progress(percent(progress / 100)),
  ];
  return (
    <li className="border-b border-line px-3 py-2 last:border-0">
      <p className="min-w-0 truncate">
        <span className="text-muted">{t.coming[type] ?? type} </span>
        {to ? <TextLink to={to}>{name}</TextLink> : <span className="font-medium">{name}</span>}
      </p>
      <p className="tabular text-meta text-muted">{notes.filter(Boolean).join(' · ')}</p>
    </li>
  );
}

/** What is going to happen in the next month. */
export function Upcoming() {
  const items = useQuery(upcoming());
  return (
    <section aria-labelledby="upcoming" className="rounded-card border border-line bg-panel">
      <h2 id="upcoming" className="border-b border-line px-3 py-2 font-semibold">
        {t.upcoming}
      </h2>
      {items.error && !items.data && <Problem error={items.error} onRetry={() => void items.refetch()} />}
      {items.isPending && <Skeleton rows={3} className="p-3" />}
      {items.data?.activities.length === 0 && <p className="p-3 text-muted">{t.upcomingEmpty}</p>}
      <ul>
        {items.data?.activities.map((item) => (
          <Item key={item.id} item={item} />
        ))}
      </ul>
      {items.data?.hasMore && <p className="px-3 py-2 text-meta text-muted">{t.upcomingMore}</p>}
    </section>
  );
}
