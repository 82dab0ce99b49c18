import { useState } from 'react';
import { useIsAdmin, useProject } from '#/features/project/open';
import { ago, duration, moment } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Empty } from '#/ui/empty';
import { Page } from '#/ui/page';
import { dayIn, instants, periodOf, range } from '#/ui/period';
import { PeriodPicker } from '#/ui/period-picker';
import { Refresh } from '#/ui/refresh';
import { Banner, Status } from '#/ui/status';
import { Detail } from './Detail';
import { Filters } from './Filters';
import { type LoggedRequest, type RequestQuery, requests } from './queries';
import { toneOf } from './status';
import { t } from './texts';

const SEARCH = { status: text, code: text, method: text, route: text, key: text, id: text, range, open: text };
const NONE = { status: '', code: '', method: '', route: '', key: '', id: '', range: '' };

const COLUMNS: readonly ListColumn<LoggedRequest>[] = [
  { name: t.status, width: '4.5rem', cell: (row) => <Status tone={toneOf(row.status)}>{row.status}</Status> },
  { name: t.method, width: '4.5rem', wideOnly: true, cell: (row) => <span className="font-mono text-meta">{row.method}</span> },
  { name: t.path, width: 'minmax(0,3fr)', cell: (row) => <span className="font-mono text-meta">{row.path}</span> },
  { name: t.code, width: 'minmax(0,2fr)', wideOnly: true, cell: (row) => <span className="font-mono text-meta text-muted">{row.code}</span> },
  { name: t.duration, width: '5rem', right: true, wideOnly: true, cell: (row) => duration(row.durationMs) },
  {
    name: t.when,
    width: '6.5rem',
    right: true,
    cell: (row) => (
      <time dateTime={row.createdAt} title={moment(row.createdAt)}>
        {ago(row.createdAt)}
      </time>
    ),
  },
];

/** What keys and people asked of the project. Only administrators see it. */
export default function RequestsPage() {
  const isAdmin = useIsAdmin();
  return (
    <Page title={t.title} full lead={t.lead}>
      {isAdmin ? <Log /> : <Empty title={t.adminsOnly}>{t.adminsOnlyText}</Empty>}
    </Page>
  );
}

function Log() {
  const { timezone } = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const [leftOut, setLeftOut] = useState(0);
  const [reading, setReading] = useState(0);
  const [today] = useState(() => dayIn(timezone));
  const period = periodOf(search.range, today);
  const span = period && instants(period, timezone);
  const query: RequestQuery = {
    ...(search.status ? { status: search.status } : {}),
    ...(search.code ? { code: search.code } : {}),
    ...(search.method ? { method: search.method } : {}),
    ...(search.route ? { route: search.route } : {}),
    ...(search.key ? { keyId: search.key } : {}),
    ...(search.id ? { requestId: search.id } : {}),
    ...(span ? { since: span.startDate, until: span.endDate } : {}),
  };
  const isFiltered = Object.keys(query).length > 0;
  const clear = () => setSearch(NONE);
  return (
    <div className="flex h-[calc(100dvh-9.5rem)] min-h-96 flex-col gap-3 max-sm:h-auto max-sm:min-h-[42rem]">
      <Filters filter={search} onChange={setSearch}>
        <div className="col-span-2">
          <PeriodPicker allTime value={search.range} period={period} today={today} onChange={(to) => setSearch({ range: to })} />
        </div>
        <div className="self-center">
          <Refresh onRefresh={() => setReading((before) => before + 1)} />
        </div>
        {isFiltered && (
          <Button variant="ghost" className="col-span-2 h-9!" onClick={clear}>
            {t.clear}
          </Button>
        )}
      </Filters>
      {leftOut > 0 && <Banner tone="warn">{t.leftOut(leftOut)}</Banner>}
      <CursorList
        label={t.list}
        source={requests(query, reading, setLeftOut)}
        columns={COLUMNS}
        rowKey={(row) => row.id}
        rowLabel={(row) => `${row.method} ${row.path}, ${row.status}`}
        onOpen={(row) => setSearch({ open: row.id })}
        empty={
          <Empty title={isFiltered ? t.emptyFiltered : t.empty} action={isFiltered ? <Button onClick={clear}>{t.clear}</Button> : undefined}>
            {isFiltered ? t.emptyFilteredText : t.emptyText}
          </Empty>
        }
      />
      {search.open && (
        <Detail
          id={search.open}
          onClose={() => setSearch({ open: '' })}
          onFilter={(filter) => setSearch({ ...NONE, ...filter, open: '' })}
        />
      )}
    </div>
  );
}
