import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { useMembership } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { Select } from '#/ui/form';
import { done, failed } from '#/ui/toast';
import { type GivenRole, type Member, reloadMembers } from './queries';
import { t } from './texts';

/** A member's role. Whoever may give another one chooses it here; it takes effect at once, and can be undone. */
export function MemberRole({ member }: { member: Member }) {
  const { user, project } = useMembership();
  const [busy, setBusy] = useState(false);
  const mayGive = project.role !== 'MEMBER' && member.role !== 'OWNER' && !project.disabled;
  // administrators do not take their own role away by accident: they leave, or ask another one
  if (!mayGive || member.userId === user.id) return <>{t.roles[member.role]}</>;
  const give = async (role: Member['role'], undoes: boolean) => {
    setBusy(true);
    try {
      const params = { path: { id: project.id, userId: member.userId } };
      await call(api.PATCH('/projects/{id}/members/{userId}', { params, body: { role } }));
      await Promise.all([reloadMembers(), queries.invalidateQueries({ queryKey: projects.queryKey })]);
      done(t.gotRole(member.email, t.roles[role]), undoes ? undefined : () => void give(member.role, true));
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Select
      hideLabel
      label={t.roleOf(member.email)}
      value={member.role}
      disabled={busy}
      onChange={(event) => void give(event.target.value as GivenRole, false)}
      className="h-8! w-auto! max-w-36"
    >
      <option value="MEMBER">{t.roles.MEMBER}</option>
      <option value="ADMIN">{t.roles.ADMIN}</option>
    </Select>
  );
}
