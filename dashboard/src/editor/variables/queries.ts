import { useQuery } from '@tanstack/react-query';
import { contactFields } from '#/features/field/queries';
import { percent } from '#/i18n/format';
import { t } from './texts';

/** A value that mails can show. */
export interface Variable {
  name: string;
  /** What it is, in a few words. */
  hint: string;
}

/** The values that every mail knows. */
const STANDARD: readonly Variable[] = [
  { name: 'email', hint: t.email },
  { name: 'unsubscribeUrl', hint: t.unsubscribeUrl },
  { name: 'manageUrl', hint: t.manageUrl },
  { name: 'subscribeUrl', hint: t.subscribeUrl },
  { name: 'id', hint: t.id },
  { name: 'subscribed', hint: t.subscribed },
];
const PREFIX = 'data.';

/** The values that mails of this project can show: its fields, and those that every mail knows. */
export function useVariables(): readonly Variable[] {
  const { data } = useQuery(contactFields());
  const custom = (data ?? [])
    .filter((field) => field.isCustom)
    .map((field) => ({
      name: field.field.startsWith(PREFIX) ? field.field.slice(PREFIX.length) : field.field,
      hint: t.field(percent(field.coverage)),
    }));
  return [...custom, ...STANDARD.filter((one) => !custom.some((field) => field.name === one.name))];
}

/** Those that a text finds, the ones that begin with it first. */
export function matching(variables: readonly Variable[], query: string): readonly Variable[] {
  const wanted = query.trim().toLowerCase();
  const found = variables.filter((one) => one.name.toLowerCase().includes(wanted));
  return found.toSorted((a, b) => Number(b.name.toLowerCase().startsWith(wanted)) - Number(a.name.toLowerCase().startsWith(wanted)));
}
