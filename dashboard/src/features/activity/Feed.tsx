import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '#/api/client';
import { now } from '#/i18n/clock';
import { day } from '#/i18n/format';
import { useShortcuts } from '#/shell/shortcuts';
import { Button } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { EntryRow, type OnFilter } from './EntryRow';
import { useLive } from './live';
import { type Entry, feed, type FeedQuery, page } from './queries';
import { t } from './texts';

type Loaded = InfiniteData<Schemas['ActivityList'], string | undefined>;
/** More new entries are not kept: the feed is read anew instead. */
const MOST_FRESH = 500;
/** How many of the newest entries are read for what happened before the feed was followed. */
const CATCH_UP = 20;

/** What came since the feed was read, newest first. */
interface Fresh {
  entries: readonly Entry[];
  /** Whether there may be more between these entries and those of the feed. */
  isCut: boolean;
}
const NOTHING: Fresh = { entries: [], isCut: false };

function headingOf(at: string): string {
  const on = day(at);
  if (on === day(new Date(now()))) return t.today;
  return on === day(new Date(now() - 86_400_000)) ? t.yesterday : on;
}

/** Entries under the day on which they happened. */
function byDay(entries: readonly Entry[]): { heading: string; entries: Entry[] }[] {
  const days: { heading: string; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const heading = headingOf(entry.timestamp);
    const last = days.at(-1);
    if (last?.heading === heading) last.entries.push(entry);
    else days.push({ heading, entries: [entry] });
  }
  return days;
}

/** What came since the feed was read, and how to see it. */
function useFresh(query: FeedQuery, known: ReadonlySet<string>, enabled: boolean) {
  const client = useQueryClient();
  const [fresh, setFresh] = useState(NOTHING);
  const { startDate: _from, endDate: _to, ...scope } = query;
  /** `mayBeCut` says that all of these entries are new, and that there are older ones. */
  const add = (entries: readonly Entry[], mayBeCut = false) =>
    setFresh((before) => {
      const seen = new Set(before.entries.map((entry) => entry.id));
      const unseen = entries.filter((entry) => !seen.has(entry.id));
      if (unseen.length === 0) return before;
      const isCut = mayBeCut && unseen.length === entries.length && !unseen.some((entry) => known.has(entry.id));
      return { entries: [...unseen, ...before.entries].slice(0, MOST_FRESH), isCut: before.isCut || isCut };
    });
  const connected = useLive(
    scope,
    {
      entry: (entry) => add([entry]),
      // what happened between reading the feed and following it
      start: () => {
        const loaded = client.getQueryData<Loaded>(feed(query).queryKey);
        const newest = loaded?.pages[0]?.data[0]?.timestamp ?? '';
        if (!loaded) return;
        void page(query, undefined, undefined, CATCH_UP)
          .then(({ data, hasMore }) => {
            const since = data.filter((entry) => entry.timestamp >= newest);
            add(since, hasMore && since.length === data.length);
          })
          .catch(() => undefined);
      },
    },
    enabled,
  );
  const unseen = fresh.entries.filter((entry) => !known.has(entry.id));
  const show = () => {
    if (fresh.isCut || fresh.entries.length >= MOST_FRESH) void client.resetQueries({ queryKey: feed(query).queryKey });
    client.setQueryData<Loaded>(feed(query).queryKey, (loaded) => {
      const first = loaded?.pages[0];
      if (!loaded || !first) return loaded;
      const added = unseen.toSorted((a, b) => b.timestamp.localeCompare(a.timestamp));
      return { ...loaded, pages: [{ ...first, data: [...added, ...first.data] }, ...loaded.pages.slice(1)] };
    });
    setFresh(NOTHING);
    return unseen;
  };
  return { unseen, show, connected };
}

/** Moves the focus to the first link of another entry. */
function step(by: number): void {
  const entries = [...document.querySelectorAll('[data-entry]')];
  const at = entries.findIndex((entry) => entry.contains(document.activeElement));
  const next = entries[Math.max(0, Math.min(entries.length - 1, at + by))];
  next?.querySelector<HTMLElement>('a, button')?.focus();
}
const KEYS = { j: () => step(1), k: () => step(-1) };

/**
 * The feed, newest first. New entries wait behind a button, so that what somebody reads does not move. Older ones come
 * when the end comes near.
 */
export function Feed({
  query,
  isLive,
  isFiltered,
  onFilter,
  onClear,
}: {
  query: FeedQuery;
  /** Whether the period goes on. */
  isLive: boolean;
  isFiltered: boolean;
  onFilter: OnFilter;
  onClear: () => void;
}) {
  const list = useInfiniteQuery(feed(query));
  const entries = useMemo(() => list.data?.pages.flatMap((each) => each.data) ?? [], [list.data]);
  const known = useMemo(() => new Set(entries.map((entry) => entry.id)), [entries]);
  const { unseen, show, connected } = useFresh(query, known, isLive);
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
  const end = useRef<HTMLDivElement>(null);
  useShortcuts(KEYS);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  useEffect(() => {
    const element = end.current;
    if (!element || !hasNextPage || isFetchingNextPage) return;
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && void fetchNextPage(), {
      rootMargin: '600px',
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const showFresh = () => {
    setShown(new Set(show().map((entry) => entry.id)));
    scrollTo({ top: 0 });
  };
  const state = !isLive ? (
    <span className="text-meta text-muted">{t.notLive}</span>
  ) : (
    <span className="text-meta text-muted" title={t.liveHint}>
      <Status tone={connected ? 'good' : 'muted'}>{connected ? t.live : t.reconnecting}</Status>
    </span>
  );

  return (
    <section aria-label={t.feed} className="min-w-0 space-y-3">
      {/* it is there before the first one, so that screen readers follow it */}
      <div role="status" className="sticky top-14 z-5 flex h-0 justify-center md:top-3">
        {unseen.length > 0 && (
          <Button variant="primary" size="small" className="rounded-full! shadow-pop" aria-label={t.freshLong(unseen.length)} onClick={showFresh}>
            {t.fresh(unseen.length)}
          </Button>
        )}
      </div>
      {list.error && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton rows={12} />}
      {list.isSuccess && entries.length === 0 && (
        <Empty
          title={isFiltered ? t.emptyFiltered : t.empty}
          action={isFiltered ? <Button onClick={onClear}>{t.clearFilters}</Button> : undefined}
        >
          {isFiltered ? t.emptyFilteredText : t.emptyText}
        </Empty>
      )}
      {entries.length === 0 && state}
      {byDay(entries).map((group, index) => (
        <div key={group.heading}>
          <div className="flex items-baseline justify-between pb-1.5">
            <h2 className="text-meta font-medium text-muted">{group.heading}</h2>
            {index === 0 && state}
          </div>
          <ol className="rounded-card border border-line bg-panel">
            {group.entries.map((entry) => (
              <EntryRow key={entry.id} entry={entry} onFilter={onFilter} fresh={shown.has(entry.id)} />
            ))}
          </ol>
        </div>
      ))}
      <div ref={end}>
        {hasNextPage && (
          <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {t.older}
          </Button>
        )}
        {list.isSuccess && !hasNextPage && entries.length > 0 && <p className="text-meta text-muted">{t.end}</p>}
      </div>
    </section>
  );
}
