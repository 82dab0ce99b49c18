import { type ReactNode, useEffect } from 'react';
import { classes } from './classes';

/**
 * A page: its title, what can be done, and its content. `full` uses the whole width, as lists do. `fill` is as high as the
 * window as well, for a list that scrolls within itself.
 */
export function Page({
  title,
  lead,
  actions,
  above,
  full = false,
  fill = false,
  children,
}: {
  title: string;
  /** One sentence below the title. */
  lead?: ReactNode;
  actions?: ReactNode;
  /** What stands above the title, such as the way back. */
  above?: ReactNode;
  full?: boolean;
  fill?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Mailwright`;
  }, [title]);
  return (
    <div
      className={classes(
        'mx-auto w-full p-4 sm:p-6',
        fill ? 'flex h-[calc(100dvh-3.0625rem)] min-h-120 flex-col gap-4 md:h-dvh pointer-coarse:max-md:h-[calc(100dvh-3.8125rem)]' : 'space-y-6',
        !full && !fill && 'max-w-5xl',
      )}
    >
      <header className="space-y-1">
        {above}
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
          <h1 className="min-w-0 text-page font-semibold break-words">{title}</h1>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
        {lead && <p className="max-w-prose text-pretty text-muted">{lead}</p>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({
  title,
  lead,
  actions,
  danger = false,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  danger?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={classes('rounded-card border bg-panel', danger ? 'border-bad' : 'border-line')}>
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2 border-b border-line p-4">
        <div className="min-w-0 flex-1 basis-60 break-words">
          <h2 className="text-section font-semibold">{title}</h2>
          {lead && <p className="mt-0.5 max-w-prose text-pretty text-muted">{lead}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      <div className="p-4">{children}</div>
    </section>
  );
}

/** Names and values, such as the properties of a contact. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid items-baseline gap-x-6 gap-y-2 sm:grid-cols-[minmax(8rem,auto)_1fr]">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted max-sm:mt-1">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A figure with its name and what it means. */
export function Figure({ name, value, note }: { name: string; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="rounded-card border border-line bg-panel p-4">
      <p className="text-muted">{name}</p>
      <p className="tabular text-figure font-semibold">{value}</p>
      {note && <p className="text-meta text-muted">{note}</p>}
    </div>
  );
}
