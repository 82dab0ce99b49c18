import { now } from './clock';
import { language } from './language';

/** English with 24 hours and day before month is what most readers outside of the United States expect. */
const locale = language === 'de' ? 'de-DE' : 'en-GB';

const whole = new Intl.NumberFormat(locale);
const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const minutes = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const rules = new Intl.PluralRules(locale);

/** A whole number, such as 1,234. */
export const number = (value: number): string => whole.format(value);
/** A number where there is little room, such as 1.2K. */
export const compact = (value: number): string => short.format(value);
/** A share between 0 and 1, such as 12.5%. */
export const percent = (share: number): string => percents.format(share);
/** A moment to the second. */
export const moment = (at: string | Date): string => exact.format(new Date(at));
/** A moment to the minute. */
export const minute = (at: string | Date): string => minutes.format(new Date(at));
/** A day. */
export const day = (at: string | Date): string => days.format(new Date(at));

const shortDays = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const dayNames = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const monthNames = new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' });
const times = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });

/** A date of a calendar, such as `2026-11-26`, where there is little room. It has no time zone. */
export const shortDay = (date: string): string => shortDays.format(new Date(`${date}T00:00:00Z`));
/** A date of a calendar with its weekday and year. */
export const dayName = (date: string): string => dayNames.format(new Date(`${date}T00:00:00Z`));
/** A month of a calendar, such as `2026-11`. */
export const monthName = (month: string): string => monthNames.format(new Date(`${month}-01T00:00:00Z`));
/** A time of the day to the second. */
export const timeOfDay = (at: string | Date): string => times.format(new Date(at));

/** The form of a text for a number: `plural(n, { one: '1 contact', other: `${number(n)} contacts` })`. */
export function plural(count: number, forms: { one: string; other: string }): string {
  return rules.select(count) === 'one' ? forms.one : forms.other;
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** How long ago or ahead a moment is, such as "5 min ago". */
export function ago(at: string | Date, from = now()): string {
  const seconds = (new Date(at).getTime() - from) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return relative.format(Math.round(seconds), 'second');
}

/** A size in bytes, such as 1.5 MB. */
export function bytes(size: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
  const step = Math.min(units.length - 1, size < 1000 ? 0 : Math.floor(Math.log10(size) / 3));
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: units[step] ?? 'byte',
    // the short name of a byte has no plural
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  }).format(size / 1000 ** step);
}

/** A length of time in milliseconds, such as "3.2 s". */
export function duration(ms: number): string {
  const unit = (name: string, value: number, digits: number) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, maximumFractionDigits: digits }).format(value);
  if (ms < 1000) return unit('millisecond', ms, 0);
  if (ms < 60_000) return unit('second', ms / 1000, 1);
  if (ms < 3_600_000) return unit('minute', ms / 60_000, 0);
  if (ms < 86_400_000) return unit('hour', ms / 3_600_000, 1);
  return unit('day', ms / 86_400_000, 1);
}
