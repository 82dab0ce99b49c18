import { Ellipsis, Plus } from 'lucide';
import { useEffect, useMemo, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';
import { number } from '#/i18n/format';
import { flag, go, href, Link, oneOf, text, useSearchState } from '#/router';
import { Button, IconButton } from '#/ui/button';
import { CodeBlock } from '#/ui/copy';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Select, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { Page } from '#/ui/page';
import { Time } from '#/ui/time';
import { failed } from '#/ui/toast';
import { duplicate, remove, removeAll, setAllEnabled, setEnabled } from './changes';
import { CreateDialog } from './CreateDialog';
import { SORTS, type WorkflowItem } from './queries';
import { triggerSummary } from './step/summary';
import { t } from './texts';
import { WorkflowState } from './WorkflowState';

const SEARCH = { q: text, status: oneOf(['', 'active', 'disabled']), sort: oneOf(SORTS), add: flag };
/** How many rows are asked for at once. */
const PAGE = 50;

/** Every workflow of the project. */
export default function ListPage() {
  const [{ q, status, sort, add }, setSearch] = useSearchState(SEARCH);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [removing, setRemoving] = useState<readonly WorkflowItem[] | 'chosen'>();
  const source = useMemo(
    () => ({
      key: projectKey('workflows', 'list', q, status, sort),
      pageSize: PAGE,
      fetch: async (cursor: string | undefined, signal: AbortSignal) => {
        const page = Number(cursor ?? 1);
        const filter = { ...(q ? { search: q } : {}), ...(status ? { status } : {}) };
        const dir = sort === 'name' ? ('asc' as const) : ('desc' as const);
        const found = await call(api.GET('/workflows', { params: { query: { page, pageSize: PAGE, sort, dir, ...filter } }, signal }));
        return { data: found.data, cursor: String(page + 1), hasMore: page < found.totalPages, total: found.total };
      },
    }),
    [q, status, sort],
  );
  const toggle = (row: WorkflowItem) =>
    setChosen((before) => {
      const next = new Set(before);
      if (!next.delete(row.id)) next.add(row.id);
      return next;
    });
  const columns = useMemo<ListColumn<WorkflowItem>[]>(() => columnsOf((row) => setRemoving([row])), []);
  const isFiltered = q !== '' || status !== '';
  const ids = [...chosen];
  const clear = () => setChosen(new Set());
  // what is out of sight is not changed together with what is seen
  useEffect(() => clear, [q, status]);

  return (
    <Page
      title={t.title}
      lead={t.lead}
      full
      actions={
        <Button variant="primary" onClick={() => setSearch({ add: true })}>
          <Icon of={Plus} size={15} />
          {t.new}
        </Button>
      }
    >
      <div className="flex flex-wrap items-end gap-2">
        <div className="w-full sm:w-72">
          <TextField
            type="search"
            label={t.search}
            hideLabel
            placeholder={t.search}
            value={q}
            data-search
            onChange={(event) => setSearch({ q: event.target.value })}
          />
        </div>
        <div className="w-36">
          <Select label={t.status} hideLabel value={status} onChange={(event) => setSearch({ status: event.target.value as typeof status })}>
            <option value="">{t.all}</option>
            <option value="active">{t.active}</option>
            <option value="disabled">{t.disabled}</option>
          </Select>
        </div>
        <div className="w-40">
          <Select label={t.sort} hideLabel value={sort} onChange={(event) => setSearch({ sort: event.target.value as typeof sort })}>
            {SORTS.map((one) => (
              <option key={one} value={one}>
                {t.sorts[one]}
              </option>
            ))}
          </Select>
        </div>
        {chosen.size > 0 && (
          <div role="toolbar" aria-label={t.selected(chosen.size)} className="flex flex-wrap items-center gap-2">
            <span className="font-medium tabular">{t.selected(chosen.size)}</span>
            <Button onClick={() => void setAllEnabled(ids, true).catch(failed)}>{t.enable}</Button>
            <Button onClick={() => void setAllEnabled(ids, false).catch(failed)}>{t.disable}</Button>
            <Button onClick={() => setRemoving('chosen')}>{t.delete}</Button>
            <Button variant="ghost" onClick={clear}>
              {t.clearSelection}
            </Button>
          </div>
        )}
      </div>
      <div className="flex h-[calc(100dvh-13rem)] min-h-80 flex-col">
        <CursorList
          label={t.title}
          source={source}
          columns={columns}
          rowKey={(row) => row.id}
          rowLabel={(row) => row.name}
          onOpen={(row) => go(`/workflows/${row.id}`)}
          selection={{ chosen, toggle, label: t.select }}
          empty={isFiltered ? <NothingFound onClear={() => setSearch({ q: '', status: '' })} /> : <NoWorkflow onAdd={() => setSearch({ add: true })} />}
        />
      </div>
      {add && <CreateDialog onClose={() => setSearch({ add: false })} />}
      <Confirm
        open={removing !== undefined}
        onClose={() => setRemoving(undefined)}
        title={removing === 'chosen' ? t.deleteMany(ids.length) : t.deleteTitle(removing?.[0]?.name ?? '')}
        action={t.delete}
        {...(removing === 'chosen' ? {} : { typed: removing?.[0]?.name ?? '' })}
        onConfirm={async () => {
          if (removing === 'chosen') await removeAll(ids);
          else if (removing?.[0]) await remove(removing[0].id);
          clear();
        }}
      >
        <p>{t.deleteText}</p>
      </Confirm>
    </Page>
  );
}

function columnsOf(onRemove: (row: WorkflowItem) => void): ListColumn<WorkflowItem>[] {
  return [
    { name: t.columns.name, width: 'minmax(8rem, 2fr)', cell: (row) => <span className="font-medium">{row.name}</span> },
    { name: t.columns.state, width: '8.5rem', cell: (row) => <WorkflowState enabled={row.enabled} isDraft={row.isDraft} /> },
    { name: t.columns.trigger, width: 'minmax(8rem, 1.5fr)', wideOnly: true, cell: (row) => triggerSummary(row.triggerType, row.triggerConfig) },
    { name: t.columns.steps, width: '4.5rem', right: true, wideOnly: true, cell: ({ _count: count }) => number(count.steps) },
    {
      name: t.columns.executions,
      width: '6.5rem',
      right: true,
      wideOnly: true,
      cell: ({ id, _count: count }) => (
        <Link
          to={`/workflows/${id}`}
          search={{ tab: 'executions' }}
          onClick={(event) => event.stopPropagation()}
          className="underline-offset-2 hover:underline"
        >
          {number(count.executions)}
        </Link>
      ),
    },
    { name: t.columns.changed, width: '7.5rem', wideOnly: true, cell: (row) => <Time at={row.updatedAt} /> },
    { name: t.columns.more, width: '4.5rem', right: true, cell: (row) => <RowMenu row={row} onRemove={() => onRemove(row)} /> },
  ];
}

function RowMenu({ row, onRemove }: { row: WorkflowItem; onRemove: () => void }) {
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions -- keeps clicks from the row
    <span onClick={(event) => event.stopPropagation()} onKeyDown={(event) => event.stopPropagation()}>
      <Menu
        trigger={
          <IconButton size="small" label={t.actions(row.name)}>
            <Icon of={Ellipsis} size={15} />
          </IconButton>
        }
        entries={[
          { text: row.enabled ? t.disable : t.enable, onSelect: () => void setEnabled(row, !row.enabled).catch(failed) },
          { text: t.duplicate, onSelect: () => void duplicate(row.id).catch(failed) },
          'line',
          { text: t.delete, danger: true, onSelect: onRemove },
        ]}
      />
    </span>
  );
}

function NothingFound({ onClear }: { onClear: () => void }) {
  return <Empty title={t.nothingFound} action={<Button onClick={onClear}>{t.clearFilter}</Button>} />;
}

function NoWorkflow({ onAdd }: { onAdd: () => void }) {
  const code = `curl ${location.origin}${href('/').split('/app')[0] ?? ''}/workflows \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"name": "Welcome", "eventName": "signed_up"}'`;
  return (
    <Empty
      title={t.empty}
      action={
        <Button onClick={onAdd}>
          {t.new}
        </Button>
      }
    >
      <p>{t.emptyText}</p>
      <div className="mt-3 text-left">
        <CodeBlock code={code} what={t.emptyCode} />
      </div>
    </Empty>
  );
}
