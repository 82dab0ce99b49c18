import { useQuery } from '@tanstack/react-query';
import { MoreHorizontal, Plus } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { number } from '#/i18n/format';
import { go, Link, oneOf, text, useSearchState, whole } from '#/router';
import { Button, IconButton, LinkButton } from '#/ui/button';
import { CodeBlock } from '#/ui/copy';
import { Empty } from '#/ui/empty';
import { Select } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { ListSearch } from '#/ui/list-search';
import { Menu } from '#/ui/menu';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { type Column, Pages, Table, useLastPage } from '#/ui/table';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { DeleteTemplate } from './DeleteTemplate';
import { sendExample } from './example';
import { knowTemplate, type ListedTemplate, PAGE_SIZE, templates } from './queries';
import { Sent } from './Sent';
import { t } from './texts';
import { TypeTag } from './TypeTag';

const TYPES = ['TRANSACTIONAL', 'MARKETING', 'HEADLESS'] as const;
const SEARCH = {
  q: text,
  type: oneOf(['', ...TYPES]),
  sort: oneOf(['newest', 'changed', 'name']),
  page: whole(1),
};

async function duplicate(id: string): Promise<void> {
  try {
    const copy = await call(api.POST('/templates/{id}/duplicate', { params: { path: { id } } }));
    knowTemplate(copy);
    done(t.duplicated);
    go(`/templates/${copy.id}`);
  } catch (error) {
    failed(error);
  }
}

/** The templates of the project. */
export default function ListPage() {
  const [search, setSearch] = useSearchState(SEARCH);
  const [deleting, setDeleting] = useState<ListedTemplate>();
  const list = useQuery(templates({ search: search.q.trim(), type: search.type, sort: search.sort, page: search.page }));
  useLastPage(search.page, list, (page) => setSearch({ page }));
  const isFiltered = search.q !== '' || search.type !== '';
  const clear = () => setSearch({ q: '', type: '', page: 1 });

  const columns: readonly Column<ListedTemplate>[] = [
    {
      name: t.name,
      cell: (row) => (
        <Link to={`/templates/${row.id}`} className="font-medium break-words hover:underline">
          {row.name}
        </Link>
      ),
    },
    { name: t.type, cell: (row) => <TypeTag type={row.type} />, wideOnly: true },
    { name: t.subject, cell: (row) => <span className="line-clamp-1 break-all text-muted">{row.subject}</span>, wideOnly: true },
    { name: t.sent, cell: (row) => <Sent id={row.id} />, right: true, wideOnly: true },
    { name: t.changed, cell: (row) => <Time at={row.updatedAt} />, right: true },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: (row) => (
        <Menu
          trigger={
            <IconButton label={t.actionsOf(row.name)} size="small">
              <Icon of={MoreHorizontal} size={15} />
            </IconButton>
          }
          entries={[
            { text: t.open, onSelect: () => go(`/templates/${row.id}`) },
            { text: t.duplicate, onSelect: () => void duplicate(row.id) },
            'line',
            { text: t.delete, danger: true, onSelect: () => setDeleting(row) },
          ]}
        />
      ),
    },
  ];
  const total = list.data?.total ?? 0;
  const first = (search.page - 1) * PAGE_SIZE + 1;
  const isEmpty = list.data && total === 0;

  return (
    <Page
      title={t.templates}
      lead={t.lead}
      full
      actions={
        <LinkButton to="/templates/create" variant="primary">
          <Icon of={Plus} size={15} />
          {t.create}
        </LinkButton>
      }
    >
      {!(isEmpty && !isFiltered) && (
        <search className="grid gap-2 sm:grid-cols-[minmax(0,1fr)_10rem_10rem]">
          <ListSearch label={t.search} value={search.q} onSearch={(q) => setSearch({ q, page: 1 })} />
          <Select
            label={t.type}
            hideLabel
            className="h-8! pointer-coarse:h-11!"
            value={search.type}
            onChange={(event) => setSearch({ type: TYPES.find((type) => type === event.target.value) ?? '', page: 1 })}
          >
            <option value="">{t.allTypes}</option>
            {TYPES.map((type) => (
              <option key={type} value={type}>
                {t.types[type]}
              </option>
            ))}
          </Select>
          <Select
            label={t.sort}
            hideLabel
            className="h-8! pointer-coarse:h-11!"
            value={search.sort}
            onChange={(event) => setSearch({ sort: SEARCH.sort.read(event.target.value), page: 1 })}
          >
            {(['newest', 'changed', 'name'] as const).map((sort) => (
              <option key={sort} value={sort}>
                {t.sorts[sort]}
              </option>
            ))}
          </Select>
        </search>
      )}
      {list.error ? (
        <Problem error={list.error} onRetry={() => void list.refetch()} />
      ) : !list.data ? (
        <Skeleton rows={9} />
      ) : isEmpty && isFiltered ? (
        <Empty title={t.noneFound} action={<Button onClick={clear}>{t.clear}</Button>} />
      ) : isEmpty ? (
        <Empty
          title={t.none}
          action={
            <LinkButton to="/templates/create" variant="primary">
              {t.create}
            </LinkButton>
          }
        >
          <p>{t.noneText}</p>
          <div className="mt-3 text-left">
            <CodeBlock code={sendExample('TEMPLATE_ID')} what={t.callName} />
          </div>
        </Empty>
      ) : (
        <>
          <div className="rounded-card border border-line bg-panel px-3">
            <Table label={t.templates} columns={columns} rows={list.data.data} rowKey={(row) => row.id} />
          </div>
          <Pages
            page={search.page}
            total={list.data.totalPages}
            of={t.of(number(first), number(Math.min(total, first + PAGE_SIZE - 1)), number(total))}
            labels={{ before: t.before, after: t.after }}
            onPage={(page) => setSearch({ page })}
          />
        </>
      )}
      {deleting && <DeleteTemplate id={deleting.id} name={deleting.name} onClose={() => setDeleting(undefined)} />}
    </Page>
  );
}
