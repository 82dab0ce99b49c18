import { useState } from 'react';
import { currentProject } from '#/api/client';
import type { ListColumn } from '#/ui/cursor-list';
import { Status } from '#/ui/status';
import { Time } from '#/ui/time';
import type { Contact, ContactField } from './queries';
import { t } from './texts';

/** How many fields of data the list shows at most. */
export const MOST_COLUMNS = 6;

const key = () => `mailwright.contacts.columns.${currentProject()}`;

function stored(): string[] | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key()) ?? 'null');
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, MOST_COLUMNS) : undefined;
  } catch {
    return undefined;
  }
}

/** The fields of data that the list shows. Until somebody chooses, those that most contacts have. The choice is kept in this browser. */
export function useColumns(fields: readonly ContactField[] | undefined): [readonly string[], (field: string) => void] {
  const [chosen, setChosen] = useState(stored);
  const custom = (fields ?? []).filter((one) => one.isCustom);
  const common = custom.toSorted((a, b) => b.coverage - a.coverage).slice(0, 2).map((one) => one.field);
  const shown = chosen ?? common;
  const toggle = (field: string) => {
    const to = shown.includes(field) ? shown.filter((one) => one !== field) : [...shown, field].slice(-MOST_COLUMNS);
    localStorage.setItem(key(), JSON.stringify(to));
    setChosen(to);
  };
  return [shown, toggle];
}

/** What a value of data looks like on one line. */
export function dataText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? t.yes : t.no;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Whether somebody gets marketing mail, as a dot and a word. */
export function Subscription({ of }: { of: Pick<Contact, 'subscribed'> }) {
  return <Status tone={of.subscribed ? 'good' : 'muted'}>{of.subscribed ? t.subscribed : t.unsubscribed}</Status>;
}

/** The address; where there is no room for the subscription beside it, with a word for who is not subscribed. */
function Address({ of }: { of: Contact }) {
  return (
    <>
      <span className="font-medium">{of.email}</span>
      {!of.subscribed && <span className="text-muted sm:hidden"> · {t.unsubscribed}</span>}
    </>
  );
}

type Sort = 'createdAt' | 'email';

/** The columns of the list of contacts. */
export function contactColumns(
  fields: readonly string[],
  sort: { by: Sort; direction: 'asc' | 'desc'; on: (by: Sort) => void },
): readonly ListColumn<Contact>[] {
  const sorted = (by: Sort) => ({ direction: sort.by === by ? sort.direction : undefined, onSort: () => sort.on(by) });
  return [
    { name: t.address, width: 'minmax(0,2fr)', sort: sorted('email'), cell: (one) => <Address of={one} /> },
    { name: t.subscription, width: '7.5rem', wideOnly: true, cell: (one) => <Subscription of={one} /> },
    ...fields.map((field): ListColumn<Contact> => {
      const name = field.replace(/^data\./, '');
      return { name, width: 'minmax(0,1fr)', wideOnly: true, cell: (one) => dataText((one.data as Record<string, unknown>)[name]) };
    }),
    { name: t.created, width: '6.5rem', right: true, wideOnly: true, sort: sorted('createdAt'), cell: (one) => <Time at={one.createdAt} /> },
  ];
}
