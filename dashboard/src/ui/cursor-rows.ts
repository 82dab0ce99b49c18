import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';

/** A page of a list that goes on by cursor. */
export interface CursorPage<Row> {
  data: readonly Row[];
  cursor?: string | null;
  hasMore: boolean;
  total?: number;
}

/** Where a list comes from. */
export interface CursorSource<Row> {
  /** What the list depends on, beginning with the project; another key is another list. */
  key: readonly unknown[];
  fetch: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<Row>>;
  /** How many rows every page but the last one has. */
  pageSize: number;
}

/** How long the pages that are out of sight are kept, in milliseconds. */
const KEPT_MS = 30_000;

/** How a page of a list is asked for. */
function pageQuery<Row>(source: CursorSource<Row>, cursor: string | undefined) {
  return {
    queryKey: [...source.key, 'page', cursor ?? null],
    queryFn: ({ signal }: { signal: AbortSignal }) => source.fetch(cursor, signal),
    gcTime: KEPT_MS,
    staleTime: KEPT_MS,
  };
}

/** The first page of a list, for what is shown beside it, such as how many rows there are. Asks nothing that the list does not. */
export function useFirstPage<Row>(source: CursorSource<Row>): CursorPage<Row> | undefined {
  return useQuery(pageQuery(source, undefined)).data;
}

/**
 * Goes from one list to the next when the first page of the next is there, so that rows stay while somebody types. Of
 * another project nothing stays.
 */
export function useSteadySource<Row>(wanted: CursorSource<Row>): { source: CursorSource<Row>; isWaiting: boolean } {
  const [shown, setShown] = useState(wanted);
  const first = useQuery(pageQuery(wanted, undefined));
  const id = JSON.stringify(wanted.key);
  const isSame = JSON.stringify(shown.key) === id;
  const isReady = first.data !== undefined || first.error !== null;
  if (!isSame && isReady) setShown(wanted);
  return isSame || isReady ? { source: wanted, isWaiting: false } : { source: shown, isWaiting: true };
}

/**
 * The rows of a list around what is in sight. A cursor cannot jump, so a page is known once the one before it was loaded.
 * Pages near the window are loaded, pages far from it are dropped and loaded again by their cursor, so that memory does
 * not grow with the list.
 */
export function useCursorRows<Row>(source: CursorSource<Row>, window: { first: number; last: number }) {
  const id = JSON.stringify(source.key);
  const [known, setKnown] = useState<{ id: string; cursors: (string | undefined)[]; ended: number | undefined }>({
    id,
    cursors: [undefined],
    ended: undefined,
  });
  const current = useMemo(() => (known.id === id ? known : { id, cursors: [undefined], ended: undefined }), [known, id]);
  const size = source.pageSize;
  const from = Math.max(0, Math.floor(window.first / size) - 1);
  const to = Math.min(current.cursors.length - 1, Math.floor(window.last / size) + 2);
  const wanted = useMemo(() => {
    const pages = [0];
    for (let page = Math.max(1, Math.min(from, to)); page <= to; page += 1) pages.push(page);
    return pages;
  }, [from, to]);
  const results = useQueries({
    queries: wanted.map((page) => pageQuery(source, current.cursors[page])),
  });
  // what the loaded pages tell about the ones behind them
  const lastWanted = wanted.at(-1) ?? 0;
  const lastPage = results.at(-1)?.data;
  useEffect(() => {
    if (!lastPage) return;
    if (lastPage.hasMore && lastPage.cursor) {
      const next = lastPage.cursor;
      if (current.cursors.length === lastWanted + 1) {
        setKnown({ id, cursors: [...current.cursors, next], ended: undefined });
      }
    } else {
      // the list may have become shorter since it was read first
      const ended = lastWanted * size + lastPage.data.length;
      if (current.ended !== ended) setKnown({ id, cursors: current.cursors.slice(0, lastWanted + 1), ended });
    }
  }, [lastPage, lastWanted, current, id, size]);

  const pages = new Map(wanted.map((page, index) => [page, results[index]?.data]));
  const first = results[0];
  const count = current.ended ?? (first?.data ? (current.cursors.length - 1) * size + 1 : 0);
  return {
    /** How many rows can be scrolled to now; with `more`, the last one stands for what is loaded next. */
    count,
    more: current.ended === undefined,
    /** How many there are in all, where the API says so. */
    total: first?.data?.total,
    /** A row; undefined while it is loaded. */
    row: (index: number): Row | undefined => pages.get(Math.floor(index / size))?.data[index % size],
    /** The rows that are loaded now. */
    loaded: (): Row[] => [...pages.values()].flatMap((page) => page?.data ?? []),
    error: results.find((result) => result.error)?.error,
    isLoading: first?.isLoading ?? true,
    retry: () => results.forEach((result) => result.error && void result.refetch()),
  };
}
