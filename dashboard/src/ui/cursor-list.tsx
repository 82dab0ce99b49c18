import { ArrowDown, ArrowUp } from 'lucide';
import { type KeyboardEvent, type MouseEvent, type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { number } from '#/i18n/format';
import { classes } from './classes';
import { CursorBody } from './cursor-body';
import { cellClasses, LINE, type ListColumn, ROW, type RowActions, type RowLook } from './cursor-row';
import { type CursorSource, useCursorRows, useSteadySource } from './cursor-rows';
import { Icon } from './icon';
import { Problem } from './problem';
import { Skeleton } from './skeleton';
import { t } from './texts';

export type { ListColumn } from './cursor-row';

/** Which rows of a list are chosen, by their keys, and how that changes. */
export interface ListSelection<Row> {
  chosen: ReadonlySet<string>;
  toggle: (row: Row) => void;
  /** What choosing is called. */
  label: string;
  /** Chooses all rows from the one that was chosen last to this one, by Shift. */
  range?: (rows: readonly Row[]) => void;
  /** Chooses the rows that are shown, or none if all of them are; by the box in the header and by Ctrl or ⌘ with A. */
  all?: (rows: readonly Row[], choose: boolean) => void;
  allLabel?: string;
  /** Chooses nothing, by Escape. */
  clear?: () => void;
}

function sortOf<Row>(column: ListColumn<Row>): 'ascending' | 'descending' | 'none' | undefined {
  if (!column.sort) return undefined;
  if (!column.sort.direction) return 'none';
  return column.sort.direction === 'asc' ? 'ascending' : 'descending';
}

/** The height of the header in pixels, with its line. */
const HEADER = 37;
/** More rows are not scrolled through: the browser's elements have a greatest height, and nobody reads that far. */
const MOST_ROWS = 800_000;

/**
 * A list of any length, read by cursor. Keys: arrows or J and K move, Home and End, Enter opens, X selects, Shift selects
 * up to a row. `selection` adds a box to each row. `empty` stands where no row is. Rows stay while those of another source
 * are loaded.
 */
export function CursorList<Row>({
  label,
  source: wanted,
  columns,
  rowKey,
  rowLabel,
  onOpen,
  selection,
  empty,
}: {
  label: string;
  source: CursorSource<Row>;
  columns: readonly ListColumn<Row>[];
  rowKey: (row: Row) => string;
  /** What a row is called by those who do not see it. */
  rowLabel: (row: Row) => string;
  onOpen?: (row: Row) => void;
  selection?: ListSelection<Row>;
  empty: ReactNode;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [window, setWindow] = useState({ first: 0, last: 50 });
  const [activated, setActive] = useState(0);
  const anchor = useRef<number>(undefined);
  const { source, isWaiting } = useSteadySource(wanted);
  const list = useCursorRows(source, window);
  const count = Math.min(list.count, MOST_ROWS);
  const active = Math.min(activated, Math.max(0, count - 1));
  // pages are what is loaded, so that rows that come into sight change nothing here until another page does
  const onRange = useCallback(
    (first: number, last: number) => {
      const page = (row: number) => Math.floor(row / source.pageSize);
      setWindow((before) => (page(before.first) === page(first) && page(before.last) === page(last) ? before : { first, last }));
    },
    [source.pageSize],
  );
  const key = JSON.stringify(source.key);
  useEffect(() => {
    setActive(0);
    anchor.current = undefined;
    scroller.current?.scrollTo({ top: 0 });
  }, [key]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(count - 1, to));
    const element = scroller.current;
    if (!element) return;
    // drawn wherever it is, so that it can have the focus at once
    flushSync(() => setActive(index));
    element.querySelector<HTMLElement>(`[aria-rowindex="${index + 2}"]`)?.focus({ preventScroll: true });
    const [highest, lowest] = [index * ROW, index * ROW + ROW + HEADER - element.clientHeight];
    if (element.scrollTop > highest) element.scrollTop = highest;
    else if (element.scrollTop < lowest) element.scrollTop = lowest;
  };
  const isAllChosen = selection !== undefined && selection.chosen.size > 0 && list.loaded().every((row) => selection.chosen.has(rowKey(row)));
  const selectTo = (index: number) => {
    const from = anchor.current ?? index;
    const rows = Array.from({ length: Math.abs(index - from) + 1 }, (_, step) => list.row(Math.min(index, from) + step));
    selection?.range?.(rows.filter((row) => row !== undefined));
  };
  const toggle = (row: Row, index: number, toHere: boolean) => {
    if (toHere && selection?.range && anchor.current !== undefined) selectTo(index);
    else selection?.toggle(row);
    anchor.current = index;
  };
  const press = (event: MouseEvent, row: Row, index: number) => {
    if (!selection || !(event.shiftKey || event.metaKey || event.ctrlKey)) {
      onOpen?.(row);
      return;
    }
    event.preventDefault();
    toggle(row, index, event.shiftKey);
    move(index);
  };
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'a' && selection?.all) {
      event.preventDefault();
      selection.all(list.loaded(), true);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement && event.target.type !== 'checkbox') return;
    // what is in a row or in the header has keys of its own
    if (event.target instanceof HTMLElement && event.target.closest('a, button, [aria-rowindex="1"]')) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW) - 1);
    const row = list.row(active);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      if (event.shiftKey && selection?.range) {
        anchor.current ??= active;
        selectTo(Math.max(0, Math.min(count - 1, step)));
      }
      move(step);
    } else if (event.key === 'Enter' && row && onOpen) onOpen(row);
    else if ((event.key === 'x' || event.key === 'X' || event.key === ' ') && row && selection) toggle(row, active, event.shiftKey);
    else if (event.key === 'Escape' && selection?.clear && selection.chosen.size > 0) selection.clear();
    else return;
    event.preventDefault();
  };
  const template = [selection ? '2rem' : '', ...columns.map((column) => column.width)].filter(Boolean).join(' ');
  const narrow = [selection ? '2rem' : '', ...columns.filter((column) => !column.wideOnly).map((column) => column.width)]
    .filter(Boolean)
    .join(' ');
  const latest = useRef({ press, toggle });
  useLayoutEffect(() => {
    latest.current = { press, toggle };
  });
  const [actions] = useState<RowActions<Row>>(() => ({
    focus: setActive,
    press: (...given) => latest.current.press(...given),
    toggle: (...given) => latest.current.toggle(...given),
  }));
  const opens = onOpen !== undefined;
  const choosing = selection?.label;
  const look = useMemo<RowLook<Row>>(() => ({ columns, rowLabel, actions, opens, choosing }), [columns, rowLabel, actions, opens, choosing]);

  if (list.error && list.count === 0) return <Problem error={list.error} onRetry={list.retry} />;
  if (list.isLoading) return <Skeleton rows={9} />;
  if (count === 0) return <>{empty}</>;

  return (
    <div className="flex min-h-64 flex-1 flex-col overflow-hidden rounded-card border border-line bg-panel">
      {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- its rows have the focus */}
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={list.more ? -1 : count + 1}
        aria-multiselectable={selection ? true : undefined}
        aria-busy={isWaiting || undefined}
        ref={scroller}
        onKeyDown={onKey}
        style={{ '--wide': template, '--narrow': narrow } as React.CSSProperties}
        className="relative min-h-0 flex-1 overflow-auto [contain:strict]"
      >
        <div role="rowgroup" className="sticky top-0 z-10 border-b border-line bg-panel">
          <div role="row" aria-rowindex={1} className={classes(LINE, 'h-9 text-meta font-medium text-muted')}>
            {selection && (
              <span role="columnheader">
                {selection.all ? (
                  <input
                    type="checkbox"
                    aria-label={selection.allLabel ?? selection.label}
                    checked={isAllChosen}
                    ref={(box) => {
                      if (box) box.indeterminate = !isAllChosen && selection.chosen.size > 0;
                    }}
                    onChange={() => selection.all?.(list.loaded(), !isAllChosen)}
                    className="block size-4 accent-(--accent)"
                  />
                ) : (
                  <span className="sr-only">{selection.label}</span>
                )}
              </span>
            )}
            {columns.map((column) => (
              <span key={column.name} role="columnheader" aria-sort={sortOf(column)} className={cellClasses(column)}>
                {column.sort ? (
                  <button type="button" onClick={column.sort.onSort} className="inline-flex h-6 items-center gap-1 hover:text-ink">
                    {column.name}
                    {column.sort.direction && <Icon of={column.sort.direction === 'asc' ? ArrowUp : ArrowDown} size={12} />}
                  </button>
                ) : (
                  column.name
                )}
              </span>
            ))}
          </div>
        </div>
        <CursorBody
          scroller={scroller}
          count={count}
          active={active}
          rowAt={list.row}
          isChosen={(row) => selection?.chosen.has(rowKey(row)) ?? false}
          look={look}
          onRange={onRange}
          isWaiting={isWaiting}
        />
      </div>
      {list.error !== null && list.error !== undefined && <Problem error={list.error} onRetry={list.retry} />}
      {!list.more && <p className="border-t border-line px-3 py-1.5 text-meta text-muted">{t.end(number(count))}</p>}
    </div>
  );
}
