import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide';
import { type ReactNode, useMemo, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import type { Contact } from '#/features/contact/queries';
import { flag, useSearchState, whole } from '#/router';
import { Button, IconButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { type Column, Pages, Table, useLastPage } from '#/ui/table';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { AddMembers } from './AddMembers';
import { MEMBERS, members, type Segment } from './queries';
import { t } from './texts';

const SEARCH = { page: whole(1), add: flag };

const COLUMNS: readonly Column<Contact>[] = [
  { name: t.address, cell: (one) => <TextLink to={`/contacts/${one.id}`} className="break-all">{one.email}</TextLink> },
  {
    name: t.subscription,
    cell: (one) => <Status tone={one.subscribed ? 'good' : 'muted'}>{one.subscribed ? t.subscribed : t.unsubscribed}</Status>,
  },
  { name: t.createdAt, wideOnly: true, cell: (one) => <Time at={one.createdAt} /> },
];

function removeColumn(segment: string): Column<Contact> {
  return { name: t.actions, hideName: true, right: true, cell: (one) => <RemoveMember segment={segment} contact={one} /> };
}

function refresh(): Promise<void> {
  return queries.invalidateQueries({ queryKey: projectKey('segments') });
}

/** Who is in a segment; those of a static one can be added and removed. */
export function MembersTab({ segment }: { segment: Segment }) {
  const [{ add }, setSearch] = useSearchState(SEARCH);
  const isStatic = segment.type === 'STATIC';
  const addButton = isStatic && (
    <Button variant="primary" onClick={() => setSearch({ add: true })}>
      <Icon of={Plus} size={14} />
      {t.add}
    </Button>
  );
  // the dialog stays while the members below it change
  return (
    <>
      <Members segment={segment} addButton={addButton} />
      {isStatic && <AddMembers segment={segment.id} open={add} onClose={() => setSearch({ add: false })} />}
    </>
  );
}

function Members({ segment, addButton }: { segment: Segment; addButton: ReactNode }) {
  const [{ page }, setSearch] = useSearchState(SEARCH);
  const found = useQuery({ ...members(segment.id, page), placeholderData: keepPreviousData });
  useLastPage(page, found, (to) => setSearch({ page: to }));
  const isStatic = segment.type === 'STATIC';
  const columns = useMemo(() => (isStatic ? [...COLUMNS, removeColumn(segment.id)] : COLUMNS), [isStatic, segment.id]);
  if (found.error && !found.data) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={8} />;
  const { data, total, totalPages } = found.data;
  if (total === 0 && data.length === 0) {
    return (
      <Empty title={t.noMembers} action={addButton}>
        {isStatic ? t.noMembersStatic : t.noMembersDynamic}
      </Empty>
    );
  }
  const from = (page - 1) * MEMBERS;
  return (
    <Section title={t.members} actions={addButton}>
      <div className="space-y-3" aria-busy={found.isPlaceholderData}>
        <Table label={t.members} columns={columns} rows={data} rowKey={(one) => one.id} />
        {totalPages > 1 && (
          <Pages
            page={page}
            total={totalPages}
            of={t.pages(from + 1, from + data.length, total)}
            labels={{ before: t.before, after: t.after }}
            onPage={(to) => setSearch({ page: to })}
          />
        )}
      </div>
    </Section>
  );
}

function RemoveMember({ segment, contact }: { segment: string; contact: Contact }) {
  const [busy, setBusy] = useState(false);
  const body = { emails: [contact.email] };
  const params = { path: { id: segment } };
  const undo = async () => {
    try {
      await call(api.POST('/segments/{id}/members', { params, body }));
      await refresh();
    } catch (error) {
      failed(error);
    }
  };
  const remove = async () => {
    setBusy(true);
    try {
      await call(api.DELETE('/segments/{id}/members', { params, body }));
      await refresh();
      done(t.removed(contact.email), () => void undo());
    } catch (error) {
      failed(error);
      setBusy(false);
    }
  };
  return (
    <IconButton size="small" label={t.removeMember(contact.email)} busy={busy} onClick={() => void remove()}>
      <Icon of={X} size={14} />
    </IconButton>
  );
}
