import { api, call } from '#/api/client';
import { ProvenConfirm } from '#/features/user/ProvenConfirm';
import { Checkbox } from '#/ui/form';
import type { Contact } from './queries';
import { t } from './texts';

/** Removes everything about a person. */
export function EraseDialog({ contact, open, onClose, onBegun }: {
  contact: Contact;
  open: boolean;
  onClose: () => void;
  onBegun: () => Promise<void>;
}) {
  return (
    <ProvenConfirm
      open={open}
      onClose={onClose}
      title={t.eraseTitle(contact.email)}
      action={t.eraseAction}
      typed={contact.email}
      fields={<Checkbox name="keepOut" label={t.keepOut} hint={t.keepOutHint} />}
      onConfirm={async (proof, data) => {
        const body = { keepOut: data.get('keepOut') === 'on', ...proof };
        await call(api.POST('/contacts/{id}/erase', { params: { path: { id: contact.id } }, body }));
        await onBegun();
      }}
    >
      <p>{t.eraseText}</p>
    </ProvenConfirm>
  );
}
