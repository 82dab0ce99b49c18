import { language } from '#/i18n/language';

/** An amount in the smallest unit of its currency, such as cents, as people write it. */
export function money(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(language === 'de' ? 'de-DE' : 'en-GB', {
    style: 'currency',
    currency: currency.toUpperCase(),
  });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount / 10 ** digits);
}
