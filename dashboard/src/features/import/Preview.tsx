import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '#/api/client';
import { ApiError } from '#/api/error';
import { number } from '#/i18n/format';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Words } from '#/ui/words';
import { Columns } from './Columns';
import { previewOf } from './queries';
import { t } from './texts';
import { conflictsOf, type Mapping, mapped, onlyOnce } from './upload';

type Found = Schemas['ImportPreview'];
type Row = Found['rows'][number];

const dataText = (data: object) =>
  Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' · ');

const ROWS: readonly Column<Row>[] = [
  { name: t.row, right: true, cell: (row) => number(row.row) },
  { name: t.address, cell: (row) => <span className="break-all">{row.email}</span> },
  {
    name: t.subscription,
    cell: (row) =>
      row.subscribed === null ? (
        <span className="text-muted">{t.keeps}</span>
      ) : (
        <Status tone={row.subscribed ? 'good' : 'muted'}>{row.subscribed ? t.subscribed : t.unsubscribed}</Status>
      ),
  },
  { name: t.data, wideOnly: true, cell: (row) => <span className="break-words text-muted">{dataText(row.data)}</span> },
];

/** What a file would become: its columns, the first contacts, and what fails. */
export function Preview({ file, mapping, onMapping }: { file: File; mapping: Mapping | undefined; onMapping: (to: Mapping) => void }) {
  const { data: looked, error, refetch, isPlaceholderData } = useQuery(previewOf(file, mapping));
  // what was found last stays when columns are chosen that do not go together, so that they can be changed
  const [found, setFound] = useState(looked);
  if (looked && looked !== found) setFound(looked);
  const data = looked ?? found;
  if (error && data) {
    const columns = mapped(data.columns, mapping);
    return (
      <div className="space-y-6">
        <Refused columns={columns} error={error} onRetry={() => void refetch()} />
        <Section title={t.columns} lead={t.columnsLead}>
          <Columns columns={columns} fresh={[]} onMapping={onMapping} />
        </Section>
      </div>
    );
  }
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) {
    return (
      <Section title={t.columns} lead={t.reading}>
        <Skeleton rows={4} />
      </Section>
    );
  }
  // a change made while the one before is still looked at adds to it
  const columns = isPlaceholderData ? mapped(data.columns, mapping) : data.columns;
  return (
    <div className="space-y-6" aria-busy={isPlaceholderData}>
      {data.problem && (
        <Banner tone="bad">
          <p role="alert">
            <Words text={data.problem} />
          </p>
          {data.columns.length > 1 && !data.columns.some((one) => onlyOnce(one.field) === 'email') && <p className="mt-1">{t.orBelow}</p>}
        </Banner>
      )}
      <Section title={t.columns} lead={t.columnsLead}>
        <Columns columns={columns} fresh={data.willCreateFields} onMapping={onMapping} />
        {data.willCreateFields.length > 0 && (
          <p className="mt-3">
            {t.willCreate(data.willCreateFields.length)} <span className="font-mono break-words">{data.willCreateFields.join(', ')}</span>
          </p>
        )}
      </Section>
      {data.failureCount > 0 && (
        <Banner tone="warn">
          <p className="font-medium">{t.willFail(data.failureCount)}</p>
          <ul className="mt-1 max-h-32 list-disc overflow-y-auto pl-4">
            {data.errors.map((one) => (
              <li key={one.row} className="break-words">
                {t.line(one.row)} {one.email && `(${one.email})`}: <Words text={one.error} />
              </li>
            ))}
          </ul>
        </Banner>
      )}
      {data.rows.length > 0 && (
        <Section title={t.firstRows}>
          <div className="max-h-80 overflow-y-auto">
            <Table label={t.firstRows} columns={ROWS} rows={data.rows} rowKey={(row) => String(row.row)} />
          </div>
        </Section>
      )}
    </div>
  );
}

/** Why a file is not looked at with these columns: which of them are for the same, or what the service says. */
function Refused({ columns, error, onRetry }: { columns: Found['columns']; error: unknown; onRetry: () => void }) {
  const conflicts = conflictsOf(columns);
  const isAddressless = !columns.some((one) => onlyOnce(one.field) === 'email');
  const isPassing = error instanceof ApiError && error.isPassing;
  if (isPassing || (conflicts.length === 0 && !isAddressless)) return <Problem error={error} {...(isPassing ? { onRetry } : {})} />;
  return (
    <Banner tone="bad">
      <div role="alert" className="space-y-1">
        {isAddressless && <p>{t.noAddressColumn}</p>}
        {conflicts.map(({ field, names }) => {
          const isOneName = new Set(names).size === 1;
          return (
            <p key={field} className="break-words">
              {t.together(field === 'email' ? t.asEmail : t.asSubscribed, names)}{' '}
              {isOneName ? t.sameName : t.changeOne}
            </p>
          );
        })}
      </div>
    </Banner>
  );
}
