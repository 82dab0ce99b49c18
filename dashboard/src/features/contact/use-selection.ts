import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ListSelection } from '#/ui/cursor-list';

/** Rows that somebody chose in a list, and what the list needs for that. */
export interface Selection<Row> {
  rows: readonly Row[];
  list: ListSelection<Row>;
  add: (rows: readonly Row[]) => void;
  clear: () => void;
  /** Gives what tells whether the selection was not cleared since: what is loaded for it belongs to it only then. */
  lasting: () => () => boolean;
}

/** Chooses rows of a list, across its pages. `of` says which rows the list has: those of another list are not chosen. */
export function useSelection<Row extends { id: string }>(label: string, allLabel: string, of: string): Selection<Row> {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Row>>(new Map());
  const round = useRef(0);
  const clear = useCallback(() => {
    round.current += 1;
    setChosen(new Map());
  }, []);
  useEffect(() => clear, [of, clear]);
  return useMemo(() => {
    const add = (rows: readonly Row[]) => setChosen((before) => new Map([...before, ...rows.map((row) => [row.id, row] as const)]));
    const toggle = (row: Row) =>
      setChosen((before) => {
        const after = new Map(before);
        if (!after.delete(row.id)) after.set(row.id, row);
        return after;
      });
    const drop = (rows: readonly Row[]) =>
      setChosen((before) => {
        const after = new Map(before);
        for (const row of rows) after.delete(row.id);
        return after;
      });
    return {
      rows: [...chosen.values()],
      add,
      clear,
      lasting: () => {
        const begun = round.current;
        return () => round.current === begun;
      },
      list: {
        chosen: new Set(chosen.keys()),
        label,
        allLabel,
        toggle,
        range: add,
        all: (rows, choose) => (choose ? add(rows) : drop(rows)),
        clear,
      },
    };
  }, [chosen, clear, label, allLabel]);
}
