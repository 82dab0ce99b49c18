import { useQuery } from '@tanstack/react-query';
import { useProject } from '#/features/project/open';
import { number } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { ListSearch } from '#/ui/list-search';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { type Column, Table } from '#/ui/table';
import { EventDetail } from './EventDetail';
import { eventCounts, eventNames } from './queries';
import { t } from './texts';

/** `events` is the search, `event` the one that is open. */
const SEARCH = { events: text, event: text };
/** How many names are shown at most; the search finds the others. */
const MOST = 100;

/** The names of events: how often each happened, what uses it, and deleting them. */
export function EventNames() {
  const project = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const { data, error, refetch } = useQuery(eventNames());
  const { data: counts } = useQuery(eventCounts());
  const byName = new Map(counts?.map((one) => [one.name, one.count]));
  const wanted = search.events.trim().toLowerCase();
  const all = data ?? [];
  const found = all.filter((name) => name.toLowerCase().includes(wanted));
  const shown = found.slice(0, MOST);
  const columns: Column<string>[] = [
    { name: t.name, cell: (name) => <span className="break-all">{name}</span> },
    {
      name: t.count,
      right: true,
      cell: (name) => {
        const count = byName.get(name);
        return count === undefined ? '' : number(count);
      },
    },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: (name) => (
        <Button size="small" onClick={() => setSearch({ event: name })} aria-label={t.usageOf(name)}>
          {t.usage}
        </Button>
      ),
    },
  ];
  return (
    <Section
      title={t.events}
      lead={t.eventsText}
      actions={
        all.length > 0 && (
          <ListSearch label={t.search} value={search.events} onSearch={(to) => setSearch({ events: to })} className="w-full sm:w-64" />
        )
      }
    >
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={4} />
      ) : all.length === 0 ? (
        <Empty title={t.none}>{t.noneText}</Empty>
      ) : shown.length === 0 ? (
        <p className="text-muted">{t.noMatch}</p>
      ) : (
        <Table label={t.events} columns={columns} rows={shown} rowKey={(name) => name} />
      )}
      {found.length > shown.length && <p className="pt-2 text-meta text-muted">{t.more(number(found.length))}</p>}
      {search.event !== '' && (
        <EventDetail name={search.event} mayDelete={!project.disabled} onClose={() => setSearch({ event: '' })} />
      )}
    </Section>
  );
}
