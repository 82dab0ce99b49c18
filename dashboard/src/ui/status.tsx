import type { ReactNode } from 'react';
import { classes } from './classes';

/** How something stands. */
export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'muted';

const DOTS: Record<Tone, string> = {
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  accent: 'bg-accent',
  muted: 'bg-control',
};

/** A dot and a word: colour alone says nothing. */
export function Status({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <span aria-hidden className={classes('size-2 shrink-0 rounded-full', DOTS[tone])} />
      {children}
    </span>
  );
}

/** A short label, such as a type. */
export function Tag({ children }: { children: ReactNode }) {
  return (
    <span className="inline-flex items-center rounded border border-line bg-raised px-1.5 text-meta whitespace-nowrap text-muted">
      {children}
    </span>
  );
}

const BANNERS: Record<Tone, string> = {
  good: 'border-good bg-good-soft',
  warn: 'border-warn bg-warn-soft',
  bad: 'border-bad bg-bad-soft',
  accent: 'border-accent bg-accent-soft',
  muted: 'border-line bg-raised',
};

/** Something to know on a page, with what can be done about it. */
export function Banner({ tone, children, action }: { tone: Tone; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes('flex flex-wrap items-center justify-between gap-3 rounded-card border p-3', BANNERS[tone])}>
      <div className="min-w-0 flex-1">{children}</div>
      {action}
    </div>
  );
}
