import { type ReactNode, useEffect } from 'react';
import { classes } from './classes';

/** A column of a table. */
export interface Column<Row> {
  name: string;
  /** What a row shows in it. */
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the right. */
  right?: boolean;
  /** The column is left out below 640 px. */
  wideOnly?: boolean;
  /** The name is for those who do not see it, such as for a column of buttons. */
  hideName?: boolean;
}

/** A table of what fits on a page. Long lists are `CursorList`s. */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div className="relative overflow-x-auto" role="region" aria-label={label} tabIndex={0}>
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line text-meta text-muted">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classes(
                  'px-2 py-1.5 font-medium first:pl-0 last:pr-0',
                  column.right && 'text-right',
                  column.wideOnly && 'max-sm:hidden',
                )}
              >
                {column.hideName ? <span className="sr-only">{column.name}</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-b border-line last:border-0">
              {columns.map((column) => (
                <td
                  key={column.name}
                  className={classes(
                    'px-2 py-2 align-middle first:pl-0 last:pr-0',
                    column.right && 'text-right',
                    column.wideOnly && 'max-sm:hidden',
                  )}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Goes to the last page of a list that is paged by number when the page of the address lies behind it, as after the last
 * row on it was deleted.
 */
export function useLastPage(
  page: number,
  list: { data: { totalPages: number } | undefined; isPlaceholderData: boolean },
  onPage: (page: number) => void,
): void {
  const last = list.isPlaceholderData ? undefined : list.data?.totalPages;
  const to = last !== undefined && last > 0 && page > last ? last : undefined;
  useEffect(() => {
    if (to !== undefined) onPage(to);
    // oxlint-disable-next-line react/exhaustive-deps -- once for each page to go to
  }, [to]);
}

/** Pages of a list that is paged by number. `onPage` changes the address. */
export function Pages({ page, total, of, labels, onPage }: {
  page: number;
  /** How many pages there are. */
  total: number;
  /** What is shown, such as "1 to 20 of 57". */
  of: string;
  labels: { before: string; after: string };
  onPage: (page: number) => void;
}) {
  const button = 'h-8 rounded-control border border-control px-3 font-medium disabled:opacity-50 pointer-coarse:h-11';
  return (
    <div className="flex items-center justify-between gap-2">
      <span className="tabular text-muted">{of}</span>
      <span className="flex gap-2">
        <button type="button" className={button} disabled={page <= 1} onClick={() => onPage(page - 1)}>
          {labels.before}
        </button>
        <button type="button" className={button} disabled={page >= total} onClick={() => onPage(page + 1)}>
          {labels.after}
        </button>
      </span>
    </div>
  );
}
