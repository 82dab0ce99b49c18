import { useQuery } from '@tanstack/react-query';
import { Columns3, ListFilter, Plus, Upload } from 'lucide';
import { Suspense, useCallback, useMemo, useState } from 'react';
import { projectKey, queries } from '#/api/query';
import { contactFields } from '#/features/field/queries';
import { number } from '#/i18n/format';
import { flag, go, json, oneOf, text, useSearchState } from '#/router';
import { lazyPart } from '#/router/lazy';
import { Button, IconButton, LinkButton } from '#/ui/button';
import { CursorList } from '#/ui/cursor-list';
import { type CursorSource, useFirstPage } from '#/ui/cursor-rows';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { ListSearch } from '#/ui/list-search';
import { Menu } from '#/ui/menu';
import { Page } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { isTree } from '#/features/segment/builder/tree';
import { AddContact } from './AddContact';
import { BulkBar, MOST_AT_ONCE } from './BulkBar';
import { BulkJob } from './BulkJob';
import { contactColumns, useColumns } from './columns';
import { type Contact, contactPage, type ContactQuery, PAGE } from './queries';
import { t } from './texts';
import { useSelection } from './use-selection';

const SEARCH = {
  q: text,
  subscribed: oneOf(['', 'true', 'false']),
  sort: oneOf(['createdAt', 'email']),
  dir: oneOf(['', 'asc', 'desc']),
  add: flag,
  /** Only contacts that meet this condition. */
  filter: json(isTree),
  /** Whether the condition is being edited. */
  edit: flag,
  /** The bulk operation that is under way, or was last. */
  job: text,
};

const FilterPanel = lazyPart(() => import('./FilterPanel'));

/** Everybody that the project knows. */
export default function ListPage() {
  const [{ q, subscribed, sort, dir, add, job, filter, edit }, setSearch] = useSearchState(SEARCH);
  const direction = dir || (sort === 'email' ? 'asc' : 'desc');
  const known = useQuery(contactFields()).data;
  const [shown, toggleColumn] = useColumns(known);
  const selection = useSelection<Contact>(t.select, t.selectAll, JSON.stringify([q, subscribed, filter]));
  // after a deletion the pages begin elsewhere, so the list is another one
  const [revision, setRevision] = useState(0);

  const query = useMemo(
    (): ContactQuery => ({ search: q, subscribed: subscribed === '' ? undefined : subscribed === 'true', sort, dir: direction, condition: filter }),
    [q, subscribed, sort, direction, filter],
  );
  const source = useMemo(
    (): CursorSource<Contact> => ({
      key: projectKey('contacts', 'list', query, revision),
      fetch: (cursor, signal) => contactPage(query, cursor, signal),
      pageSize: PAGE,
    }),
    [query, revision],
  );
  const total = useFirstPage(source)?.total ?? 0;
  const sortBy = useCallback(
    (by: 'createdAt' | 'email') => {
      const turned = direction === 'asc' ? 'desc' : 'asc';
      setSearch({ sort: by, dir: sort === by ? turned : '' });
    },
    [sort, direction, setSearch],
  );
  const columns = useMemo(() => contactColumns(shown, { by: sort, direction, on: sortBy }), [shown, sort, direction, sortBy]);
  const isFiltered = q !== '' || subscribed !== '' || filter !== undefined;
  const selectMatching = async () => {
    const lasts = selection.lasting();
    let cursor: string | undefined;
    for (let count = 0; count < MOST_AT_ONCE; count += PAGE) {
      const page = await contactPage(query, cursor);
      if (!lasts()) return;
      selection.add(page.data);
      if (!page.hasMore || !page.cursor) return;
      cursor = page.cursor;
    }
  };
  const onDone = () => {
    setRevision((before) => before + 1);
    void queries.invalidateQueries({ queryKey: projectKey('contacts') });
    void queries.invalidateQueries({ queryKey: projectKey('segments') });
  };
  const addButton = (
    <Button variant="primary" onClick={() => setSearch({ add: true })}>
      <Icon of={Plus} size={14} />
      {t.add}
    </Button>
  );
  const importButton = (
    <LinkButton to="/contacts/import">
      <Icon of={Upload} size={14} />
      {t.importFile}
    </LinkButton>
  );
  return (
    <Page
      title={t.contacts}
      full
      fill
      actions={
        <>
          {importButton}
          {addButton}
        </>
      }
    >
      <div className="flex flex-wrap items-center gap-2">
        <ListSearch label={t.search} value={q} onSearch={(to) => setSearch({ q: to })} className="w-72 max-sm:w-full" />
        <select
          aria-label={t.subscription}
          value={subscribed}
          onChange={(event) => setSearch({ subscribed: SEARCH.subscribed.read(event.target.value) })}
          className="h-8 rounded-control border border-control bg-panel px-2 pointer-coarse:h-11"
        >
          <option value="">{t.everybody}</option>
          <option value="true">{t.onlySubscribed}</option>
          <option value="false">{t.onlyUnsubscribed}</option>
        </select>
        <Button aria-expanded={edit} onClick={() => setSearch({ edit: !edit })}>
          <Icon of={ListFilter} size={14} />
          {t.filter}
        </Button>
        <ColumnsMenu fields={known?.filter((one) => one.isCustom).map((one) => one.field)} shown={shown} onToggle={toggleColumn} />
        {total > 0 && (
          <span role="status" className="tabular ml-auto text-muted">
            {t.count(number(total))}
          </span>
        )}
      </div>
      {(edit || filter) && (
        <Suspense fallback={<Skeleton rows={2} />}>
          <FilterPanel
            key={JSON.stringify(filter)}
            filter={filter}
            isEdited={edit}
            onEdit={(to) => setSearch({ edit: to })}
            onApply={(to) => setSearch({ filter: to, edit: false })}
          />
        </Suspense>
      )}
      {job && <BulkJob key={job} id={job} onDone={onDone} onJob={(id) => setSearch({ job: id })} onDismiss={() => setSearch({ job: '' })} />}
      {selection.rows.length > 0 && (
        <BulkBar
          contacts={selection.rows}
          onJob={(id) => {
            selection.clear();
            setSearch({ job: id });
          }}
          onClear={selection.clear}
          more={selection.rows.length < Math.min(total, MOST_AT_ONCE) ? selectMatching : undefined}
        />
      )}
      <CursorList
        label={t.contacts}
        source={source}
        columns={columns}
        rowKey={(one) => one.id}
        rowLabel={(one) => one.email}
        onOpen={(one) => go(`/contacts/${one.id}`)}
        selection={selection.list}
        empty={
          isFiltered ? (
            <Empty title={t.noneMatch} action={<Button onClick={() => setSearch({ q: '', subscribed: '', filter: undefined })}>{t.clear}</Button>}>
              {t.noneMatchText}
            </Empty>
          ) : (
            <Empty
              title={t.empty}
              action={
                <span className="flex gap-2">
                  {importButton}
                  {addButton}
                </span>
              }
            >
              {t.emptyText}
            </Empty>
          )
        }
      />
      <AddContact open={add} onClose={() => setSearch({ add: false })} />
    </Page>
  );
}

function ColumnsMenu({ fields, shown, onToggle }: {
  fields: readonly string[] | undefined;
  shown: readonly string[];
  onToggle: (field: string) => void;
}) {
  const entries = (fields ?? []).map((field) => ({
    text: field.replace(/^data\./, ''),
    checked: shown.includes(field),
    onSelect: () => onToggle(field),
  }));
  return (
    <Menu
      align="start"
      trigger={
        <IconButton label={t.columns} variant="default">
          <Icon of={Columns3} size={14} />
        </IconButton>
      }
      entries={[{ heading: entries.length > 0 ? t.columnsOf : t.noFields }, ...entries]}
    />
  );
}
