import { Plus } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { useProject } from '#/features/project/open';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { ListSearch } from '#/ui/list-search';
import { Once } from '#/ui/once';
import { Section } from '#/ui/page';
import { Tag } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import { forgetSecret } from './fresh';
import { NewKey } from './NewKey';
import type { Key } from './queries';
import { t } from './texts';

const SEARCH = { q: text };
/** From how many keys on they can be searched. */
const MANY = 6;

/** What a key opens. */
function Scopes({ of }: { of: Key }) {
  return (
    <span className="flex flex-wrap gap-1">
      {of.scopes.map((scope) => (
        <Tag key={scope}>{t.scopeNames[scope]}</Tag>
      ))}
    </span>
  );
}

/** Secret keys with a name and scopes: one for each program, so that each can be revoked by itself. */
export function NamedKeys({ keys, mayManage }: { keys: readonly Key[]; mayManage: boolean }) {
  const project = useProject();
  const [{ q }, setSearch] = useSearchState(SEARCH);
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<Key>();
  const [revoking, setRevoking] = useState<Key>();

  const revoke = async () => {
    if (!revoking) return;
    const params = { path: { id: project.id, keyId: revoking.id } };
    const { withdrawnInvitations } = await call(api.DELETE('/projects/{id}/keys/{keyId}', { params }));
    const gone = withdrawnInvitations.length > 0 ? ` ${t.withdrawn(withdrawnInvitations.join(', '))}` : '';
    done(`${t.revoked(revoking.name ?? '')}${gone}`);
    if (made?.id === revoking.id) setMade(undefined);
    if (revoking.hint) forgetSecret(project.id, revoking.hint);
    await queries.invalidateQueries({ queryKey: projectKey('keys') });
  };
  const columns: Column<Key>[] = [
    {
      name: t.name,
      cell: (key) => (
        <div className="min-w-0">
          <p className="font-medium break-words">{key.name}</p>
          <code className="font-mono text-meta text-muted">sk_…{key.hint}</code>
          <div className="sm:hidden">
            <Scopes of={key} />
          </div>
        </div>
      ),
    },
    { name: t.scopes, cell: (key) => <Scopes of={key} />, wideOnly: true },
    { name: t.lastUsed, cell: (key) => (key.lastUsedAt ? <Time at={key.lastUsedAt} /> : t.never), wideOnly: true },
    { name: t.created, cell: (key) => <Time at={key.createdAt} />, wideOnly: true },
  ];
  if (mayManage) {
    columns.push({
      name: t.actions,
      hideName: true,
      right: true,
      cell: (key) => (
        <Button size="small" variant="ghost" onClick={() => setRevoking(key)} aria-label={t.revokeThis(key.name ?? '')}>
          {t.revoke}
        </Button>
      ),
    });
  }
  const create = (
    <Button variant="primary" onClick={() => setCreating(true)}>
      <Icon of={Plus} size={14} />
      {t.create}
    </Button>
  );
  const shown = keys.filter((key) => `${key.name ?? ''} ${key.hint ?? ''}`.toLowerCase().includes(q.trim().toLowerCase()));
  return (
    <Section
      title={t.named}
      lead={t.namedText}
      actions={
        <>
          {(keys.length >= MANY || q !== '') && (
            <ListSearch label={t.search} value={q} onSearch={(to) => setSearch({ q: to })} className="w-full sm:w-64" />
          )}
          {mayManage && keys.length > 0 && create}
        </>
      }
    >
      <div className="space-y-4">
        {made?.key && (
          <Once title={t.madeKey(made.name ?? '')} text={made.key} what={t.secret}>
            {t.once}
          </Once>
        )}
        {keys.length === 0 ? (
          <Empty title={t.none} action={mayManage && create}>
            {t.noneText}
          </Empty>
        ) : shown.length === 0 ? (
          <p className="text-muted">{t.noMatch}</p>
        ) : (
          <Table label={t.named} columns={columns} rows={shown} rowKey={(key) => key.id} />
        )}
      </div>
      <NewKey open={creating} onClose={() => setCreating(false)} onMade={setMade} />
      <Confirm
        open={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={t.revokeQuestion(revoking?.name ?? '')}
        action={t.revoke}
        onConfirm={revoke}
      >
        <p>{t.revokeText}</p>
      </Confirm>
    </Section>
  );
}
