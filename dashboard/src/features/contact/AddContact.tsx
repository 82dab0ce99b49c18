import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { go } from '#/router';
import { Dialog } from '#/ui/dialog';
import { Checkbox, Form, SubmitButton, textOf, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { t } from './texts';

/** Adds a contact by its address, and opens it. */
export function AddContact({ open, onClose }: { open: boolean; onClose: () => void }) {
  const add = async (data: FormData) => {
    const body = { email: textOf(data, 'email') ?? '', subscribed: data.get('subscribed') === 'on' };
    const made = await call(api.POST('/contacts', { body }));
    void queries.invalidateQueries({ queryKey: projectKey('contacts') });
    const { _meta: meta } = made;
    done(meta.isNew ? t.added(made.email) : t.existed(made.email));
    go(`/contacts/${made.id}`);
  };
  return (
    <Dialog open={open} onClose={onClose} title={t.add} description={t.addLead}>
      <Form onSubmit={add}>
        <TextField name="email" type="email" label={t.email} required autoFocus autoComplete="off" maxLength={254} />
        <Checkbox name="subscribed" label={t.addSubscribed} hint={t.addSubscribedHint} />
        <div className="flex justify-end">
          <SubmitButton>{t.add}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}
