import { classes } from '#/ui/classes';
import { Change } from './Change';
import { changeOf, formatOf, type Measure, MEASURES, RULES, totalOf } from './measures';
import type { Day } from './queries';
import { isUnreported } from './reported';
import { t } from './texts';

const COUNTS: Partial<Record<Measure, (n: number) => string>> = t.counts;

/** The measures of the period as cards. The one that is pressed is drawn. */
export function Cards({
  days,
  before,
  drawn,
  onDraw,
}: {
  days: readonly Day[];
  before: readonly Day[] | undefined;
  drawn: Measure;
  onDraw: (measure: Measure) => void;
}) {
  return (
    <div role="group" aria-label={t.measure} className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-4 xl:grid-cols-8">
      {MEASURES.map((measure) => {
        const { value, count } = totalOf(days, measure);
        const share = before ? changeOf(value, totalOf(before, measure).value) : undefined;
        const isUnknown = measure === 'delivered' && isUnreported(count, totalOf(days, 'sent').count);
        const note = isUnknown ? t.notReported : COUNTS[measure]?.(count);
        return (
          <button
            key={measure}
            type="button"
            aria-pressed={measure === drawn}
            onClick={() => onDraw(measure)}
            className={classes(
              'flex min-w-0 flex-col items-start border-b-2 bg-panel px-3 py-2.5 text-left hover:bg-raised focus-visible:outline-offset-[-2px]',
              measure === drawn ? 'border-accent' : 'border-transparent',
            )}
          >
            <span className={classes('block max-w-full truncate', measure === drawn ? 'font-medium text-accent' : 'text-muted')}>
              {t.measures[measure]}
            </span>
            <span className="flex flex-wrap items-baseline gap-x-2">
              <span className="tabular text-figure font-semibold">{value === null || isUnknown ? '–' : formatOf(measure)(value)}</span>
              <Change share={share} isBad={RULES[measure].isBad ?? false} />
            </span>
            <span className="block max-w-full text-meta text-muted">{note}</span>
          </button>
        );
      })}
    </div>
  );
}
