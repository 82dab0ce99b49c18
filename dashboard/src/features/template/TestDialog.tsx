import { api, call } from '#/api/client';
import { useMembership } from '#/features/project/open';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { t } from './texts';

/** Saves what is written and sends it to one address. */
export function TestDialog({ id, save, onClose }: { id: string; save: () => Promise<boolean>; onClose: () => void }) {
  const { user } = useMembership();
  const send = async (data: FormData) => {
    const email = String(data.get('email')).trim();
    if (!(await save())) return;
    await call(api.POST('/templates/{id}/test', { params: { path: { id } }, body: { email } }));
    done(t.testSent(email));
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t.testTitle} description={t.testText}>
      <Form onSubmit={send}>
        <TextField name="email" type="email" label={t.testTo} defaultValue={user.email} required />
        <div className="flex justify-end">
          <SubmitButton>{t.testAction}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}
