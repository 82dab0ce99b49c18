import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { useProject } from '#/features/project/open';
import { Form, Select, SubmitButton, TextField } from '#/ui/form';
import { Section } from '#/ui/page';
import { type GivenRole, reloadMembers } from './queries';
import { t } from './texts';

/** Inviting somebody by address. */
export function Invite({ onInvited }: { onInvited: (result: Schemas['InvitedView']) => void }) {
  const project = useProject();
  // an empty form after each invitation
  const [round, setRound] = useState(0);
  const invite = async (data: FormData) => {
    const body = { email: String(data.get('email')).trim(), role: String(data.get('role')) as GivenRole };
    const result = await call(api.POST('/projects/{id}/members', { params: { path: { id: project.id } }, body }));
    await reloadMembers();
    onInvited(result);
    setRound(round + 1);
  };
  return (
    <Section title={t.invite} lead={t.inviteText}>
      <Form key={round} onSubmit={invite} aria-label={t.invite}>
        <div className="grid items-start gap-3 sm:grid-cols-[1fr_14rem_auto]">
          <TextField name="email" type="email" label={t.email} autoComplete="off" placeholder="grace@example.com" required />
          <Select name="role" label={t.role} defaultValue="MEMBER">
            <option value="MEMBER">{t.roles.MEMBER}</option>
            <option value="ADMIN">{t.roles.ADMIN}</option>
          </Select>
          <SubmitButton className="h-9! sm:mt-6">{t.inviteAction}</SubmitButton>
        </div>
        <dl className="grid gap-x-4 gap-y-0.5 text-meta text-muted sm:grid-cols-[auto_1fr]">
          {(['MEMBER', 'ADMIN', 'OWNER'] as const).map((role) => (
            <div key={role} className="contents">
              <dt className="font-medium">{t.roles[role]}</dt>
              <dd>{t.rights[role]}</dd>
            </div>
          ))}
        </dl>
      </Form>
    </Section>
  );
}
