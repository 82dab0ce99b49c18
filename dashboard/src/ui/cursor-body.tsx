import { type RefObject, useEffect } from 'react';
import { classes } from './classes';
import { CursorRow, ROW, type RowLook } from './cursor-row';
import { useRowRange } from './row-range';

/**
 * The rows of a long list that are in sight, and the active one wherever it is, so that the keyboard is never lost. It is
 * apart from the list for scrolling to draw nothing else.
 */
export function CursorBody<Row>({ scroller, count, active, rowAt, isChosen, look, onRange, isWaiting }: {
  scroller: RefObject<HTMLElement | null>;
  count: number;
  active: number;
  rowAt: (index: number) => Row | undefined;
  isChosen: (row: Row) => boolean;
  look: RowLook<Row>;
  /** Learns which rows are drawn, to have them loaded. */
  onRange: (first: number, last: number) => void;
  isWaiting: boolean;
}) {
  const { first, last } = useRowRange(scroller, count, ROW);
  useEffect(() => onRange(first, last), [first, last, onRange]);
  const indexes = Array.from({ length: last - first + 1 }, (_, step) => first + step);
  if (active < first) indexes.unshift(active);
  if (active > last) indexes.push(active);
  return (
    <div
      role="rowgroup"
      className={classes('relative transition-opacity duration-120 [overflow-anchor:none]', isWaiting && 'opacity-60')}
      style={{ height: count * ROW, paddingTop: first * ROW }}
    >
      {indexes.map((index) => {
        const row = rowAt(index);
        return (
          <CursorRow
            key={index}
            {...look}
            row={row}
            index={index}
            isActive={index === active}
            isChosen={row !== undefined && isChosen(row)}
            isApart={index < first || index > last}
          />
        );
      })}
    </div>
  );
}
