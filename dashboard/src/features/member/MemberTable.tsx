import { Ellipsis } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { forgetProject } from '#/features/project/change';
import { useMembership } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { go, text, useSearchState } from '#/router';
import { PROJECT } from '#/router/address';
import { IconButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import { ListSearch } from '#/ui/list-search';
import { Menu, type MenuEntry } from '#/ui/menu';
import { Section } from '#/ui/page';
import { Tag } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import { MemberRole } from './MemberRole';
import { type Member, reloadMembers } from './queries';
import { t } from './texts';

const SEARCH = { q: text };
/** From how many members on they can be searched. */
const MANY = 6;

type Asking = { what: 'remove' | 'offer' | 'withdraw'; member: Member };

/** The members with their roles, and what can be done with each. */
export function MemberTable({ members }: { members: readonly Member[] }) {
  const { user, project } = useMembership();
  const [{ q }, setSearch] = useSearchState(SEARCH);
  const [asking, setAsking] = useState<Asking>();
  const isOwner = project.role === 'OWNER';
  const isAdmin = project.role !== 'MEMBER';
  const owners = members.filter((member) => member.role === 'OWNER').length;

  const entries = (member: Member): MenuEntry[] => {
    const isSelf = member.userId === user.id;
    const found: MenuEntry[] = [];
    if (isOwner && member.role !== 'OWNER' && !project.disabled) {
      const what = member.ownershipOffered ? 'withdraw' : 'offer';
      found.push({ text: t[what], onSelect: () => setAsking({ what, member }) });
    }
    const isLastOwner = member.role === 'OWNER' && owners < 2;
    if (isSelf) {
      const disabled = isLastOwner && !project.disabled;
      found.push({
        text: disabled ? t.lastOwner : t.leave,
        danger: true,
        disabled,
        onSelect: () => setAsking({ what: 'remove', member }),
      });
    } else if (isAdmin && member.role !== 'OWNER' && !project.disabled) {
      found.push({ text: t.remove, danger: true, onSelect: () => setAsking({ what: 'remove', member }) });
    }
    return found;
  };
  const columns: Column<Member>[] = [
    {
      name: t.person,
      cell: (member) => (
        <div className="min-w-0">
          <p className="font-medium break-words">
            {member.name ?? member.email} {member.userId === user.id && <Tag>{t.you}</Tag>}
          </p>
          {member.name && <p className="text-meta break-all text-muted">{member.email}</p>}
          {member.ownershipOffered && <p className="text-meta text-accent">{t.offered}</p>}
        </div>
      ),
    },
    { name: t.role, cell: (member) => <MemberRole member={member} /> },
    { name: t.since, cell: (member) => <Time at={member.createdAt} />, wideOnly: true },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: (member) => {
        const found = entries(member);
        if (found.length === 0) return null;
        const trigger = (
          <IconButton label={t.actionsFor(member.email)} size="small">
            <Icon of={Ellipsis} size={16} />
          </IconButton>
        );
        return <Menu trigger={trigger} entries={found} />;
      },
    },
  ];
  const wanted = q.trim().toLowerCase();
  const shown = members.filter((member) => `${member.name ?? ''} ${member.email}`.toLowerCase().includes(wanted));
  return (
    <Section
      title={t.members}
      actions={
        (members.length >= MANY || q !== '') && (
          <ListSearch label={t.search} value={q} onSearch={(to) => setSearch({ q: to })} className="w-full sm:w-64" />
        )
      }
    >
      {shown.length === 0 ? (
        <p className="text-muted">{t.noMatch}</p>
      ) : (
        <Table label={t.members} columns={columns} rows={shown} rowKey={(member) => member.userId} />
      )}
      {asking && (
        <Question asking={asking} isSelf={asking.member.userId === user.id} onClose={() => setAsking(undefined)} />
      )}
    </Section>
  );
}

/** Asks before somebody is removed, or the project is offered to them. */
function Question({ asking: { what, member }, isSelf, onClose }: { asking: Asking; isSelf: boolean; onClose: () => void }) {
  const { project } = useMembership();
  const params = { path: { id: project.id, userId: member.userId } };
  const act = async () => {
    if (what === 'remove') {
      await call(api.DELETE('/projects/{id}/members/{userId}', { params }));
      if (isSelf) {
        forgetProject(project.id);
        done(t.left(project.name));
        go('/', { search: { [PROJECT]: undefined }, replace: true });
        return;
      }
      done(t.removed(member.email));
    } else {
      // the role that the member has takes the offer back
      const body = { role: what === 'offer' ? ('OWNER' as const) : member.role };
      await call(api.PATCH('/projects/{id}/members/{userId}', { params, body }));
      done(what === 'offer' ? t.wasOffered(member.email) : t.wasWithdrawn);
      await queries.invalidateQueries({ queryKey: projects.queryKey });
    }
    await reloadMembers();
  };
  const texts = {
    remove: isSelf
      ? { title: t.leaveQuestion(project.name), text: t.leaveText, action: t.leave }
      : { title: t.removeQuestion(member.email), text: t.removeText, action: t.remove },
    offer: { title: t.offerQuestion(member.email), text: t.offerText, action: t.offer },
    withdraw: { title: t.withdrawQuestion(member.email), text: t.withdrawText, action: t.withdraw },
  }[what];
  return (
    <Confirm open onClose={onClose} title={texts.title} action={texts.action} danger={what === 'remove'} onConfirm={act}>
      <p>{texts.text}</p>
    </Confirm>
  );
}
