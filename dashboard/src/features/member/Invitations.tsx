import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { useProject } from '#/features/project/open';
import { Button } from '#/ui/button';
import { Section } from '#/ui/page';
import { Status } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { type GivenRole, type Invitation, reloadMembers } from './queries';
import { t } from './texts';

/** Whether an invitation is open, or waits for somebody to confirm it. */
function State({ of }: { of: Invitation }) {
  return of.confirmed ? <Status tone="accent">{t.waits}</Status> : <Status tone="warn">{t.unconfirmed}</Status>;
}

/** Invitations that nobody accepted yet: confirming what a key asked for, inviting again, and withdrawing. */
export function Invitations({
  invitations,
  mayManage,
  onInvited,
}: {
  invitations: readonly Invitation[];
  mayManage: boolean;
  onInvited: (result: Schemas['InvitedView']) => void;
}) {
  const project = useProject();
  const [busy, setBusy] = useState<string>();
  const act = async (invitation: Invitation, action: () => Promise<unknown>) => {
    setBusy(invitation.id);
    try {
      await action();
      await reloadMembers();
    } catch (error) {
      failed(error);
    } finally {
      setBusy(undefined);
    }
  };
  const path = (invitation: Invitation) => ({ id: project.id, invitationId: invitation.id });
  const confirm = (one: Invitation) =>
    act(one, async () => {
      const params = { path: path(one) };
      onInvited(await call(api.POST('/projects/{id}/invitations/{invitationId}/confirm', { params })));
    });
  const again = (one: Invitation) =>
    act(one, async () => {
      const body = { email: one.email, role: one.role as GivenRole };
      onInvited(await call(api.POST('/projects/{id}/members', { params: { path: { id: project.id } }, body })));
    });
  const withdraw = (one: Invitation) =>
    act(one, async () => {
      await call(api.DELETE('/projects/{id}/invitations/{invitationId}', { params: { path: path(one) } }));
      done(t.invitationWithdrawn(one.email));
    });
  const columns: Column<Invitation>[] = [
    {
      name: t.email,
      cell: (one) => (
        <div className="min-w-0">
          <p className="break-all">{one.email}</p>
          <p className="text-meta break-words text-muted">{t.invitedBy(one.invitedBy)}</p>
          <p className="text-meta sm:hidden">
            <State of={one} />
          </p>
        </div>
      ),
    },
    { name: t.role, cell: (one) => t.roles[one.role], wideOnly: true },
    { name: t.state, cell: (one) => <State of={one} />, wideOnly: true },
    { name: t.expires, cell: (one) => <Time at={one.expiresAt} />, wideOnly: true },
  ];
  if (mayManage) {
    columns.push({
      name: t.actions,
      hideName: true,
      right: true,
      cell: (one) => (
        <span className="flex justify-end gap-1 max-sm:flex-col max-sm:items-end">
          {one.confirmed ? (
            <Button size="small" busy={busy === one.id} onClick={() => void again(one)} aria-label={t.againFor(one.email)}>
              {t.again}
            </Button>
          ) : (
            <Button size="small" busy={busy === one.id} onClick={() => void confirm(one)} aria-label={t.confirmFor(one.email)}>
              {t.confirm}
            </Button>
          )}
          <Button
            size="small"
            variant="ghost"
            busy={busy === one.id}
            onClick={() => void withdraw(one)}
            aria-label={t.withdrawFor(one.email)}
          >
            {t.withdrawInvitation}
          </Button>
        </span>
      ),
    });
  }
  return (
    <Section title={t.invitations} lead={t.invitationsText}>
      <Table label={t.invitations} columns={columns} rows={invitations} rowKey={(one) => one.id} />
    </Section>
  );
}
