import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { type Proof, ProvenConfirm } from '#/features/user/ProvenConfirm';
import { Checkbox } from '#/ui/form';
import { t } from './texts';

/** Asks before a person is erased, and begins it. */
export function ErasePerson({
  open,
  email,
  onClose,
  onBegun,
}: {
  open: boolean;
  email: string;
  onClose: () => void;
  onBegun: (receipt: string) => void;
}) {
  const erase = async (proof: Proof, data: FormData) => {
    const body = { ...proof, email, keepOut: data.has('keepOut') };
    const { id } = await call(api.POST('/erasures', { body }));
    await queries.invalidateQueries({ queryKey: projectKey('contacts') });
    onBegun(id);
  };
  return (
    <ProvenConfirm
      open={open}
      onClose={onClose}
      title={t.eraseQuestion(email)}
      action={t.erase}
      typed={email}
      fields={<Checkbox name="keepOut" label={t.keepOut} hint={t.keepOutHint} />}
      onConfirm={erase}
    >
      <p>{t.eraseText}</p>
      <p>{t.remains}</p>
    </ProvenConfirm>
  );
}
