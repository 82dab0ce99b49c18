import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '#/api/client';
import { AdminNote } from '#/features/project/AdminNote';
import { useIsAdmin, useProject } from '#/features/project/open';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Invitations } from './Invitations';
import { Invite } from './Invite';
import { Invited } from './Invited';
import { MemberTable } from './MemberTable';
import { OwnMembership } from './OwnMembership';
import { invitations, members } from './queries';

/** Who works in the project, who is invited, and inviting others. */
export default function MembersTab() {
  const project = useProject();
  const mayManage = useIsAdmin() && !project.disabled;
  const all = useQuery(members(project.id));
  const open = useQuery(invitations(project.id));
  const [invited, setInvited] = useState<Schemas['InvitedView']>();
  if (all.error && !all.data) return <Problem error={all.error} onRetry={() => void all.refetch()} />;
  if (!all.data) return <Skeleton rows={8} />;
  return (
    <>
      <AdminNote />
      <OwnMembership members={all.data} />
      {mayManage && <Invite onInvited={setInvited} />}
      {invited && <Invited result={invited} />}
      <MemberTable members={all.data} />
      {open.error && <Problem error={open.error} onRetry={() => void open.refetch()} />}
      {open.data && open.data.length > 0 && (
        <Invitations invitations={open.data} mayManage={mayManage} onInvited={setInvited} />
      )}
    </>
  );
}
