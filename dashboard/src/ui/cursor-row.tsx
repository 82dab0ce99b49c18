import { type CSSProperties, memo, type MouseEvent, type ReactNode } from 'react';
import { classes } from './classes';
import { t } from './texts';

/** The height of a row in pixels. */
export const ROW = 36;
/** How the cells of a row stand beside each other. */
export const LINE = 'grid items-center gap-3 px-3 grid-cols-(--narrow) sm:grid-cols-(--wide)';

/** A column of a long list. */
export interface ListColumn<Row> {
  name: string;
  cell: (row: Row) => ReactNode;
  /** The width as in `grid-template-columns`. */
  width: string;
  right?: boolean;
  /** The column is left out below 640 px. */
  wideOnly?: boolean;
  /** How the list is sorted by it, if it is; pressing its name changes that. */
  sort?: { direction: 'asc' | 'desc' | undefined; onSort: () => void };
}

/** What pressing a row does. It stays the same object while the list is shown, so that rows are not drawn again. */
export interface RowActions<Row> {
  focus: (index: number) => void;
  press: (event: MouseEvent, row: Row, index: number) => void;
  toggle: (row: Row, index: number, toHere: boolean) => void;
}

/** What all rows of a list have in common. */
export interface RowLook<Row> {
  columns: readonly ListColumn<Row>[];
  /** What a row is called by those who do not see it. */
  rowLabel: (row: Row) => string;
  actions: RowActions<Row>;
  /** Whether pressing a row opens it. */
  opens: boolean;
  /** What choosing a row is called; nothing where rows cannot be chosen. */
  choosing: string | undefined;
}

/** The classes of a cell. */
export function cellClasses<Row>(column: ListColumn<Row>): string {
  return classes('min-w-0 truncate', column.right && 'text-right tabular', column.wideOnly && 'max-sm:hidden');
}

/** A row of a long list. It is drawn again only when it changes, never because its neighbours come and go. */
export const CursorRow = memo(Drawn) as typeof Drawn;

function Drawn<Row>({ row, index, isActive, isChosen, isApart, columns, rowLabel, actions, opens, choosing }: RowLook<Row> & {
  /** Nothing while it is loaded. */
  row: Row | undefined;
  index: number;
  isActive: boolean;
  isChosen: boolean;
  /** Whether it does not stand among its neighbours, because they are out of sight. */
  isApart: boolean;
}) {
  const isChoosable = choosing !== undefined;
  const style: CSSProperties = isApart ? { height: ROW, position: 'absolute', insetInline: 0, top: index * ROW } : { height: ROW };
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the grid has the keys
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChoosable ? isChosen : undefined}
      aria-label={row ? rowLabel(row) : t.loadingMore}
      tabIndex={isActive ? 0 : -1}
      onFocus={() => actions.focus(index)}
      // Shift selects rows, not the text in them
      onMouseDown={(event) => isChoosable && event.shiftKey && event.preventDefault()}
      onClick={(event) => row && actions.press(event, row, index)}
      style={style}
      className={classes(
        LINE,
        'border-b border-line [contain:strict] focus-visible:outline-offset-[-2px]',
        opens && 'cursor-pointer hover:bg-raised',
        isChosen && 'bg-accent-soft',
      )}
    >
      {isChoosable && (
        // a press beside the box is meant for it
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the grid has the keys
        <span role="gridcell" className="-my-2 -ml-3 py-2 pl-3" onClick={(event) => event.stopPropagation()}>
          {row && (
            <input
              type="checkbox"
              tabIndex={-1}
              checked={isChosen}
              aria-label={`${choosing}: ${rowLabel(row)}`}
              onChange={(event) => actions.toggle(row, index, event.nativeEvent instanceof globalThis.MouseEvent && event.nativeEvent.shiftKey)}
              className="block size-4 accent-(--accent)"
            />
          )}
        </span>
      )}
      {columns.map((column, at) => (
        <span key={column.name} role="gridcell" className={cellClasses(column)}>
          {row ? column.cell(row) : at === 0 ? <span className="text-muted">{t.loadingMore}</span> : null}
        </span>
      ))}
    </div>
  );
}
