import { Plus } from 'lucide';
import { useMemo } from 'react';
import { projectKey, queries } from '#/api/query';
import { number } from '#/i18n/format';
import { go, oneOf, text, useSearchState } from '#/router';
import { Button, LinkButton } from '#/ui/button';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import type { CursorSource } from '#/ui/cursor-rows';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { Page } from '#/ui/page';
import { ListSearch } from '#/ui/list-search';
import { Status, Tag } from '#/ui/status';
import { Time } from '#/ui/time';
import { type Segment, segments } from './queries';
import { t } from './texts';

const SEARCH = { q: text, type: oneOf(['', 'DYNAMIC', 'STATIC']) };

const COLUMNS: readonly ListColumn<Segment>[] = [
  {
    name: t.name,
    width: 'minmax(0,1fr)',
    cell: (segment) => (
      <>
        <span className="font-medium">{segment.name}</span>
        {segment.description && <span className="ml-2 text-muted">{segment.description}</span>}
      </>
    ),
  },
  { name: t.type, width: '6.5rem', wideOnly: true, cell: (segment) => <Tag>{t.types[segment.type]}</Tag> },
  {
    name: t.tracked,
    width: '14rem',
    wideOnly: true,
    cell: (segment) => segment.trackMembership && <Status tone="accent">{t.trackedNote}</Status>,
  },
  { name: t.members, width: '6rem', right: true, cell: (segment) => number(segment.memberCount) },
  { name: t.updated, width: '7rem', right: true, wideOnly: true, cell: (segment) => <Time at={segment.updatedAt} /> },
];

/** The segments of the project, with their sizes. */
export default function ListPage() {
  const [{ q, type }, setSearch] = useSearchState(SEARCH);
  const source = useMemo((): CursorSource<Segment> => {
    const words = q.toLowerCase();
    const fits = (one: Segment) => `${one.name} ${one.description ?? ''}`.toLowerCase().includes(words) && (type === '' || one.type === type);
    return {
      key: projectKey('segments', 'list', q, type),
      // the API gives all of them at once
      fetch: async () => ({ data: (await queries.fetchQuery(segments())).filter(fits), hasMore: false }),
      pageSize: 10_000,
    };
  }, [q, type]);
  const isFiltered = q !== '' || type !== '';
  const create = (
    <LinkButton to="/segments/new" variant="primary">
      <Icon of={Plus} size={14} />
      {t.create}
    </LinkButton>
  );
  return (
    <Page title={t.segments} full fill actions={create}>
      <div className="flex flex-wrap gap-2">
        <ListSearch label={t.search} value={q} onSearch={(to) => setSearch({ q: to })} className="w-72 max-sm:w-full" />
        <select
          aria-label={t.type}
          value={type}
          onChange={(event) => setSearch({ type: SEARCH.type.read(event.target.value) })}
          className="h-8 rounded-control border border-control bg-panel px-2 pointer-coarse:h-11"
        >
          <option value="">{t.allTypes}</option>
          <option value="DYNAMIC">{t.types.DYNAMIC}</option>
          <option value="STATIC">{t.types.STATIC}</option>
        </select>
      </div>
      <CursorList
        label={t.segments}
        source={source}
        columns={COLUMNS}
        rowKey={(segment) => segment.id}
        rowLabel={(segment) => segment.name}
        onOpen={(segment) => go(`/segments/${segment.id}`)}
        empty={
          isFiltered ? (
            <Empty title={t.noneMatch} action={<Button onClick={() => setSearch({ q: '', type: '' })}>{t.clear}</Button>}>
              {t.noneMatchText}
            </Empty>
          ) : (
            <Empty title={t.empty} action={create}>
              {t.emptyText}
            </Empty>
          )
        }
      />
    </Page>
  );
}
