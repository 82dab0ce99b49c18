import { number, percent } from '#/i18n/format';

/** A count and its share of a whole, with a bar. */
export function Share({ count, of }: { count: number; of: number }) {
  const share = of === 0 ? 0 : count / of;
  return (
    <span className="tabular inline-flex items-center justify-end gap-2 whitespace-nowrap">
      <span aria-hidden className="h-1 w-12 overflow-hidden rounded-full bg-raised max-2xl:hidden">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      <span className="text-muted">{number(count)}</span>
      <span className="w-11">{of === 0 ? '–' : percent(share)}</span>
    </span>
  );
}
