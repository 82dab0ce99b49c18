import { useQuery } from '@tanstack/react-query';
import { Copy, Ellipsis, Plus, Trash2 } from 'lucide';
import { useState } from 'react';
import { number, percent } from '#/i18n/format';
import { go, oneOf, text, useSearchState, whole } from '#/router';
import { Button, IconButton, LinkButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Select } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { ListSearch } from '#/ui/list-search';
import { Menu } from '#/ui/menu';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Pages, Table, useLastPage } from '#/ui/table';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { canRemove } from './Actions';
import { DeleteCampaign } from './DeleteCampaign';
import { campaigns, duplicate, type Listed, PAGE_SIZE, type Status } from './queries';
import { StatusWord } from './StatusWord';
import { t } from './texts';

const STATUSES = Object.keys(t.statuses) as Status[];
const SEARCH = { q: text, status: oneOf(['', 'DRAFT', 'SCHEDULED', 'SENDING', 'SENT', 'CANCELLED']), page: whole(1) };

/** The campaigns of the project. */
export default function CampaignsPage() {
  const [{ q, status, page }, setSearch] = useSearchState(SEARCH);
  const [removing, setRemoving] = useState<Listed>();
  const list = useQuery(campaigns(page, status, q));
  useLastPage(page, list, (to) => setSearch({ page: to }));
  const create = (
    <LinkButton to="/campaigns/create" variant="primary">
      <Icon of={Plus} size={14} />
      {t.create}
    </LinkButton>
  );
  const isFiltered = q !== '' || status !== '';
  const rows = list.data?.data ?? [];
  return (
    <Page title={t.title} actions={create} full>
      {(isFiltered || list.data?.total !== 0) && (
        <div className="grid gap-2 sm:grid-cols-[minmax(0,24rem)_12rem]">
          <ListSearch label={t.search} value={q} onSearch={(to) => setSearch({ q: to, page: 1 })} />
          <Select
            label={t.status}
            hideLabel
            className="h-8! pointer-coarse:h-11!"
            value={status}
            onChange={(event) => setSearch({ status: SEARCH.status.read(event.target.value), page: 1 })}
          >
            <option value="">{t.anyStatus}</option>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {t.statuses[one]}
              </option>
            ))}
          </Select>
        </div>
      )}
      {list.error && !list.data ? (
        <Problem error={list.error} onRetry={() => void list.refetch()} />
      ) : !list.data ? (
        <Skeleton rows={9} />
      ) : list.data.total === 0 ? (
        isFiltered ? (
          <Empty title={t.none} action={<Button onClick={() => setSearch({ q: '', status: '', page: 1 })}>{t.clear}</Button>} />
        ) : (
          <Empty title={t.empty} action={create}>
            {t.emptyText}
          </Empty>
        )
      ) : (
        <>
          <div className="rounded-card border border-line bg-panel px-4 py-1">
            <Table label={t.title} rows={rows} rowKey={(row) => row.id} columns={columns(setRemoving)} />
          </div>
          <Pages
            page={page}
            total={list.data.totalPages}
            of={t.pageOf((page - 1) * PAGE_SIZE + 1, (page - 1) * PAGE_SIZE + rows.length, list.data.total)}
            labels={{ before: t.before, after: t.after }}
            onPage={(to) => setSearch({ page: to })}
          />
        </>
      )}
      {removing && <DeleteCampaign campaign={removing} onClose={() => setRemoving(undefined)} />}
    </Page>
  );
}

const share = (part: number, whole_: number) => (whole_ > 0 ? percent(part / whole_) : '–');

function columns(onRemove: (campaign: Listed) => void) {
  return [
    {
      name: t.name,
      cell: (row: Listed) => (
        <div className="min-w-40">
          <TextLink to={`/campaigns/${row.id}`} className="break-words">
            {row.name}
          </TextLink>
          <p className="truncate text-meta text-muted">{row.subject}</p>
        </div>
      ),
    },
    { name: t.status, cell: (row: Listed) => <StatusWord campaign={row} /> },
    { name: t.sent, right: true, wideOnly: true, cell: (row: Listed) => number(row.sentCount) },
    { name: t.opened, right: true, wideOnly: true, cell: (row: Listed) => share(row.openedCount, row.sentCount) },
    { name: t.clicked, right: true, wideOnly: true, cell: (row: Listed) => share(row.clickedCount, row.sentCount) },
    {
      name: t.when,
      right: true,
      wideOnly: true,
      cell: (row: Listed) => <Time at={row.sentAt ?? row.scheduledFor ?? row.createdAt} />,
    },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: (row: Listed) => (
        <Menu
          trigger={
            <IconButton size="small" label={t.actionsOf(row.name)}>
              <Icon of={Ellipsis} />
            </IconButton>
          }
          entries={[
            { text: t.duplicate, icon: <Icon of={Copy} size={14} />, onSelect: () => void copy(row.id) },
            {
              text: t.remove,
              icon: <Icon of={Trash2} size={14} />,
              danger: true,
              disabled: !canRemove(row),
              onSelect: () => onRemove(row),
            },
          ]}
        />
      ),
    },
  ];
}

async function copy(id: string): Promise<void> {
  try {
    const made = await duplicate(id);
    done(t.duplicated);
    go(`/campaigns/${made.id}`);
  } catch (error) {
    failed(error);
  }
}
