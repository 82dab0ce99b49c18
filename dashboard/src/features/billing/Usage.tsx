import { number, percent } from '#/i18n/format';
import { Progress } from '#/ui/progress';
import { Status } from '#/ui/status';
import { CATEGORIES, type Limits } from './queries';
import { t } from './texts';

/**
 * How many mails of each kind there were in this month, and how many there may be. Without a subscription the kinds share
 * one allowance (`isShared`), of which each shows the same.
 */
export function Usage({ limits, isShared }: { limits: Limits; isShared: boolean }) {
  const rows = isShared
    ? [{ name: t.allMails, limit: limits.transactional }]
    : CATEGORIES.map((kind) => ({ name: t.categories[kind], limit: limits[kind] }));
  return (
    <ul className="grid gap-x-10 gap-y-4 sm:grid-cols-2">
      {rows.map(({ name, limit }) => {
        const used = number(limit.usage);
        return (
          <li key={name} className="space-y-1.5">
            <div className="flex items-baseline justify-between gap-2">
              <span className="font-medium">{name}</span>
              <span className="tabular text-muted">
                {limit.limit ? t.usedOf(used, number(limit.limit)) : t.usedUnlimited(used)}
              </span>
            </div>
            {limit.limit ? (
              <>
                <Progress value={limit.percentage} label={`${name}: ${t.usedOf(used, number(limit.limit))}`} />
                <Status tone={limit.isBlocked ? 'bad' : limit.isWarning ? 'warn' : 'good'}>
                  {limit.isBlocked ? t.blocked : t.share(percent(limit.percentage / 100))}
                </Status>
              </>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}
