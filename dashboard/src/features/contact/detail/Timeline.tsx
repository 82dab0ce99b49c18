import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { follow } from '#/api/live';
import { now } from '#/i18n/clock';
import { day } from '#/i18n/format';
import { oneOf, useSearchState } from '#/router';
import { Empty } from '#/ui/empty';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { LoadMore } from './LoadMore';
import { type Activity, activityTypes, timeline } from './queries';
import { t } from './texts';
import { TimelineEntry } from './TimelineEntry';

const KINDS = ['email', 'event', 'workflow', 'segment', 'contact'] as const;
const SEARCH = { show: oneOf(['', ...KINDS]) };

/** What happens to the contact from now on, newest first, and whether the stream is connected. */
function useLive(contact: string, types: string): { entries: readonly Activity[]; isConnected: boolean } {
  const [entries, setEntries] = useState<readonly Activity[]>([]);
  const [isConnected, setConnected] = useState(false);
  useEffect(() => {
    const end = new AbortController();
    setEntries([]);
    const query = new URLSearchParams({ contactId: contact, ...(types ? { types } : {}) });
    const event = ({ data }: { data: string }) => setEntries((before) => [JSON.parse(data) as Activity, ...before]);
    void follow(`/activity/stream?${query}`, { event, state: setConnected }, end.signal);
    return () => end.abort();
  }, [contact, types]);
  return { entries, isConnected };
}

function headingOf(name: string): string {
  return name === day(new Date(now())) ? t.today : name;
}

function byDay(entries: readonly Activity[]): ReadonlyMap<string, Activity[]> {
  const days = new Map<string, Activity[]>();
  for (const entry of entries) {
    const name = day(entry.timestamp);
    const known = days.get(name);
    if (known) known.push(entry);
    else days.set(name, [entry]);
  }
  return days;
}

/** Everything that happened to a contact, and happens while somebody looks. */
export function Timeline({ contact }: { contact: string }) {
  const [{ show }, setSearch] = useSearchState(SEARCH);
  const all = useQuery(activityTypes()).data;
  const types = show === '' ? '' : (all ?? []).filter((type) => type.startsWith(`${show}.`)).join(',');
  const isReady = show === '' || all !== undefined;
  const pages = useInfiniteQuery({ ...timeline(contact, types), enabled: isReady });
  const live = useLive(contact, types);
  const days = useMemo(() => {
    const known = pages.data?.pages.flatMap((page) => page.data) ?? [];
    const ids = new Set(known.map((one) => one.id));
    const entries = [...live.entries.filter((one) => !ids.has(one.id)), ...known];
    return byDay(entries);
  }, [pages.data, live.entries]);
  return (
    <Section
      title={t.timeline}
      actions={
        <>
          <span title={t.liveHint} className="self-center text-meta text-muted">
            <Status tone={live.isConnected ? 'good' : 'muted'}>{live.isConnected ? t.live : t.notLive}</Status>
          </span>
          <select
            aria-label={t.show}
            value={show}
            onChange={(event) => setSearch({ show: SEARCH.show.read(event.target.value) })}
            className="h-8 rounded-control border border-control bg-panel px-2 pointer-coarse:h-11"
          >
            <option value="">{t.everything}</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {t.kinds[kind]}
              </option>
            ))}
          </select>
        </>
      }
    >
      {pages.error && !pages.data ? (
        <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      ) : !pages.data ? (
        <Skeleton rows={6} />
      ) : days.size === 0 ? (
        <Empty title={show === '' ? t.nothing : t.nothingOfKind}>{show === '' && t.nothingText}</Empty>
      ) : (
        <div role="log" aria-label={t.timeline} className="space-y-4">
          {[...days].map(([name, entries]) => (
            <section key={name}>
              <h3 className="mb-1 text-meta font-medium text-muted">{headingOf(name)}</h3>
              <ol>
                {entries.map((entry) => (
                  <TimelineEntry key={entry.id} entry={entry} />
                ))}
              </ol>
            </section>
          ))}
        </div>
      )}
      <LoadMore of={pages} />
    </Section>
  );
}
