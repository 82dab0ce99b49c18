import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Dialog } from '#/ui/dialog';
import { Form, Select, SubmitButton, textOf, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import type { Reason } from './queries';
import { t } from './texts';

/** What a person may give as the reason. */
const GIVEN: readonly Reason[] = ['manual', 'unsubscribe-all', 'hard-bounce', 'complaint'];

/** Puts an address on the list. */
export function AddAddress({ onClose }: { onClose: () => void }) {
  const add = async (data: FormData) => {
    const email = String(data.get('email')).trim();
    const expires = textOf(data, 'expiresAt');
    await call(
      api.POST('/suppressions/addresses', {
        body: {
          email,
          reason: GIVEN.find((reason) => reason === data.get('reason')) ?? 'manual',
          ...(expires ? { expiresAt: new Date(expires).toISOString() } : {}),
        },
      }),
    );
    await queries.invalidateQueries({ queryKey: projectKey('suppressions') });
    done(t.added(email));
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t.add}>
      <Form onSubmit={add}>
        <TextField name="email" type="email" label={t.email} autoComplete="off" autoFocus required />
        <Select name="reason" label={t.reason}>
          {GIVEN.map((reason) => (
            <option key={reason} value={reason}>
              {t.reasons[reason]}
            </option>
          ))}
        </Select>
        <TextField name="expiresAt" type="datetime-local" label={t.expires} hint={t.expiresHint} />
        <SubmitButton>{t.add}</SubmitButton>
      </Form>
    </Dialog>
  );
}
