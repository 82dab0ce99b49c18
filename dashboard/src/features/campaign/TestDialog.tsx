import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { members } from '#/features/member/queries';
import { useMembership } from '#/features/project/open';
import { Combobox } from '#/ui/combobox';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton } from '#/ui/form';
import { done } from '#/ui/toast';
import { reload } from './queries';
import { t } from './texts';

/** Saves what is written, and sends it to one address: one's own, a member's or any other. */
export function TestDialog({ id, save, onClose }: { id: string; save: () => Promise<boolean>; onClose: () => void }) {
  const { user, project } = useMembership();
  const [email, setEmail] = useState(user.email);
  const { data: others } = useQuery(members(project.id));
  const send = async () => {
    const to = email.trim();
    if (!(await save())) return;
    await call(api.POST('/campaigns/{id}/test', { params: { path: { id } }, body: { email: to } }));
    void reload(id);
    done(t.tested(to));
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t.test} description={t.testHint}>
      <Form onSubmit={send}>
        <Combobox
          free
          name="email"
          label={t.testTo}
          value={email}
          required
          options={(others ?? []).map((one) => ({ value: one.email, label: one.email, hint: one.name ?? undefined }))}
          onChange={setEmail}
        />
        <div className="flex justify-end">
          <SubmitButton>{t.testAction}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}
