import { number, percent } from '#/i18n/format';
import type { Day } from './queries';
import type { Schemas } from '#/api/client';

/** What a card shows and the chart draws. */
export const MEASURES = [
  'sent',
  'delivered',
  'openRate',
  'clickRate',
  'bounceRate',
  'complaints',
  'unsubscribes',
  'events',
] as const;
/** One of them. */
export type Measure = (typeof MEASURES)[number];

type Count = 'sent' | 'delivered' | 'opens' | 'clicks' | 'bounces' | 'complaints' | 'unsubscribes' | 'events';

interface Rule {
  /** What is counted. */
  count: Count;
  /** What it is a share of. */
  of?: Count;
  /** Whether more of it is worse. */
  isBad?: boolean;
  /** The entries of the feed that it counts. */
  types: Schemas['ActivityType'];
}

/** How each measure is made of the API's counts. */
export const RULES: Readonly<Record<Measure, Rule>> = {
  sent: { count: 'sent', types: 'email.sent' },
  delivered: { count: 'delivered', types: 'email.delivered' },
  openRate: { count: 'opens', of: 'sent', types: 'email.opened' },
  clickRate: { count: 'clicks', of: 'sent', types: 'email.clicked' },
  bounceRate: { count: 'bounces', of: 'sent', isBad: true, types: 'email.bounced' },
  complaints: { count: 'complaints', isBad: true, types: 'email.complaint' },
  unsubscribes: { count: 'unsubscribes', isBad: true, types: 'email.unsubscribed' },
  events: { count: 'events', types: 'event.triggered' },
};

/** The value of a measure on a day; null where it is a share of nothing. */
export function valueOn(day: Day, measure: Measure): number | null {
  const { count, of } = RULES[measure];
  if (!of) return day[count];
  return day[of] === 0 ? null : day[count] / day[of];
}

/** A period's value of a measure, and what was counted for it. */
export function totalOf(days: readonly Day[], measure: Measure): { value: number | null; count: number } {
  const { count, of } = RULES[measure];
  const sum = (name: Count) => days.reduce((total, day) => total + day[name], 0);
  const counted = sum(count);
  if (!of) return { value: counted, count: counted };
  const base = sum(of);
  return { value: base === 0 ? null : counted / base, count: counted };
}

/** By which share a value is more than the one before; undefined where that says nothing. */
export function changeOf(now: number | null, before: number | null): number | undefined {
  if (now === null || before === null || before === 0) return undefined;
  return now / before - 1;
}

/** Writes a value of a measure. */
export function formatOf(measure: Measure): (value: number) => string {
  return RULES[measure].of ? percent : number;
}
