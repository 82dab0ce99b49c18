import { classes } from './classes';
import { t } from './texts';

/** Grey lines in the shape of what is loading. They appear after 150 ms, so that what is quick does not flicker. */
export function Skeleton({ rows = 3, className }: { rows?: number; className?: string }) {
  return (
    <div role="status" aria-label={t.loading} className={classes('animate-appear space-y-3 opacity-0', className)}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={classes('h-5 animate-pulse rounded bg-raised', index % 3 === 2 && 'w-2/3')} />
      ))}
    </div>
  );
}
