import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide';
import { minute, number } from '#/i18n/format';
import { IconButton } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Icon } from '#/ui/icon';
import { Facts } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { receipt } from './queries';
import { t } from './texts';

/** The receipt of an erasure. It has nothing of the person. */
export function Receipt({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, refetch } = useQuery(receipt(id));
  return (
    <section aria-label={t.receipt} className="space-y-3 rounded-card border border-line p-3">
      <div className="flex items-center justify-between gap-2">
        <h3 className="font-medium">{t.receipt}</h3>
        <IconButton label={t.closeReceipt} size="small" onClick={onClose}>
          <Icon of={X} size={14} />
        </IconButton>
      </div>
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={4} />
      ) : (
        <>
          <Facts
            rows={[
              [
                t.status,
                <span key="status" role="status">
                  <Status tone={data.status === 'COMPLETED' ? 'good' : 'accent'}>{t.statuses[data.status]}</Status>
                </span>,
              ],
              [t.id, <Copyable key="id" text={data.id} what={t.id} />],
              [t.requested, minute(data.requestedAt)],
              [t.completed, data.completedAt ? minute(data.completedAt) : t.underWay],
              [t.keepOut, data.keepOut ? t.yes : t.no],
              [t.hash, <Copyable key="hash" text={data.addressHash} what={t.hash} />],
              [t.counts, <Counts key="counts" of={data.counts} />],
            ]}
          />
          <p className="text-meta text-muted">{t.receiptText}</p>
        </>
      )}
    </section>
  );
}

/** How many records of each kind went. */
function Counts({ of }: { of: object }) {
  const rows = Object.entries(of).filter((row): row is [string, number] => typeof row[1] === 'number');
  if (rows.length === 0) return <>{t.nothing}</>;
  return (
    <ul>
      {rows.map(([kind, count]) => (
        <li key={kind} className="tabular">
          {number(count)} <code className="font-mono text-meta text-muted">{kind}</code>
        </li>
      ))}
    </ul>
  );
}
