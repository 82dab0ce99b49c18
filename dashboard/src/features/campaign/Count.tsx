import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { Figure } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { audience } from './queries';
import { t } from './texts';

type Excluded = Schemas['Excluded'];

/** How many a campaign reaches, and who is left out for which reason. While a choice is on its way it shows the last one. */
export function Count({ id, isWaiting = false }: { id: string; isWaiting?: boolean }) {
  const found = useQuery(audience(id));
  if (found.error && !found.data) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={2} />;
  const { recipients, audience: all, excluded } = found.data;
  const reasons = (Object.keys(t.excluded) as (keyof Excluded)[]).filter((reason) => excluded[reason] > 0);
  const isOld = isWaiting || found.isFetching;
  return (
    <section aria-label={t.reach} aria-live="polite" aria-busy={isOld} className={isOld ? 'opacity-60' : ''}>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
        <div className="max-sm:col-span-2 *:h-full">
          <Figure name={t.reaches} value={number(recipients)} />
        </div>
        <Figure name={t.inAudience} value={number(all)} />
        <Figure
          name={t.leftOut}
          value={number(all - recipients)}
          note={reasons.map((reason) => `${number(excluded[reason])} ${t.excluded[reason]}`).join(', ')}
        />
      </div>
    </section>
  );
}
