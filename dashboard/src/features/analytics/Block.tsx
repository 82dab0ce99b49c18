import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { CsvButton } from './CsvButton';
import type { Span } from './queries';

/** A table of figures: it waits, fails, or shows its rows, or what stands where there are none. */
export function Block<Row>({
  title,
  lead,
  table,
  span,
  rows,
  empty,
  children,
}: {
  title: string;
  lead: string;
  /** The last part of its path in the API. */
  table: string;
  span?: Span;
  rows: UseQueryResult<Row[]>;
  empty: ReactNode;
  children: (rows: readonly Row[]) => ReactNode;
}) {
  return (
    <Section
      title={title}
      lead={lead}
      actions={rows.data && rows.data.length > 0 && <CsvButton table={table} what={title} {...(span ? { span } : {})} />}
    >
      {rows.error && !rows.data && <Problem error={rows.error} onRetry={() => void rows.refetch()} />}
      {rows.isPending && <Skeleton rows={4} />}
      {rows.data && (rows.data.length === 0 ? empty : children(rows.data))}
    </Section>
  );
}
