import { now } from '#/i18n/clock';
import type { Codec } from '#/router';

/** Days from the first to the last, both included, as `2026-11-26`. */
export interface Period {
  from: string;
  to: string;
}

/** Periods that have a name. The first is the default of pages that always have one. */
export const PRESETS = ['30d', 'today', '7d', '90d', '12m', 'month', 'last-month'] as const;
/** The name of a period that ends today, or of a month. */
export type Preset = (typeof PRESETS)[number];

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

const utc = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

function isDay(text: string | undefined): text is string {
  return text !== undefined && DAY.test(text) && !Number.isNaN(utc(text)) && dayOf(utc(text)) === text;
}

/** A day so many days later; earlier with a negative number. */
export function addDays(day: string, days: number): string {
  return dayOf(utc(day) + days * DAY_MS);
}

/** How many days a period has. */
export function daysIn(period: Period): number {
  return Math.round((utc(period.to) - utc(period.from)) / DAY_MS) + 1;
}

/** The period of the same length just before. */
export function periodBefore(period: Period): Period {
  return { from: addDays(period.from, -daysIn(period)), to: addDays(period.from, -1) };
}

/** The days of a period, the first one first. */
export function daysOf(period: Period): string[] {
  return Array.from({ length: daysIn(period) }, (_, index) => addDays(period.from, index));
}

/** What an address holds: a preset's name or `<from>_<to>`. Empty, and anything else, is none. */
export const range: Codec<string> = {
  read: (given) => (given && (isPreset(given) || custom(given)) ? given : ''),
  write: (value) => value,
};

/** Whether a text is the name of a period. */
export function isPreset(text: string): text is Preset {
  return PRESETS.some((preset) => preset === text);
}

function custom(text: string): Period | undefined {
  const [from, to] = text.split('_', 2);
  return isDay(from) && isDay(to) && from <= to ? { from, to } : undefined;
}

/** The text for a period in an address. */
export function rangeOf(period: Period): string {
  return `${period.from}_${period.to}`;
}

/** The period that an address means, where `today` is the present day; undefined when it means none. */
export function periodOf(text: string, today: string): Period | undefined {
  const month = `${today.slice(0, 8)}01`;
  switch (text) {
    case 'today':
      return { from: today, to: today };
    case '7d':
      return { from: addDays(today, -6), to: today };
    case '30d':
      return { from: addDays(today, -29), to: today };
    case '90d':
      return { from: addDays(today, -89), to: today };
    case '12m':
      return { from: addDays(today, -364), to: today };
    case 'month':
      return { from: month, to: today };
    case 'last-month': {
      const last = addDays(month, -1);
      return { from: `${last.slice(0, 8)}01`, to: last };
    }
    default:
      return custom(text);
  }
}

/** The day that it is at a moment in a time zone. */
export function dayIn(zone: string, at: number = now()): string {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(at);
  const value = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return `${value('year')}-${value('month')}-${value('day')}`;
}

function offset(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(value('year'), value('month') - 1, value('day'), value('hour'), value('minute'), value('second'));
  return local - Math.floor(at / 1000) * 1000;
}

/** When a day begins in a time zone. Where clocks are set forward at midnight it begins an hour later. */
export function startOfDay(day: string, zone: string): Date {
  const guess = utc(day);
  let at = guess - offset(zone, guess);
  at = guess - offset(zone, at);
  while (dayIn(zone, at) < day) at += 1_800_000;
  return new Date(at);
}

/** A period as the API takes it: from its first moment on, before the first one after it. */
export function instants(period: Period, zone: string): { startDate: string; endDate: string } {
  return {
    startDate: startOfDay(period.from, zone).toISOString(),
    endDate: startOfDay(addDays(period.to, 1), zone).toISOString(),
  };
}
