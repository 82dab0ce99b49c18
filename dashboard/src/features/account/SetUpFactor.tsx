import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { Copyable } from '#/ui/copy';
import { Dialog } from '#/ui/dialog';
import { Form, PasswordField, SubmitButton, TextField } from '#/ui/form';
import { QrCode } from './QrCode';
import { t } from './texts';

/** Setting up a second factor: the password, the code to scan, and a first code that proves that it works. */
export function SetUpFactor({
  open,
  onClose,
  onConfirmed,
}: {
  open: boolean;
  onClose: () => void;
  onConfirmed: (codes: readonly string[]) => Promise<void>;
}) {
  const [begun, setBegun] = useState<Schemas['BegunView']>();
  const close = () => {
    setBegun(undefined);
    onClose();
  };
  const begin = async (data: FormData) => {
    setBegun(await call(api.POST('/users/@me/totp', { body: { password: String(data.get('password')) } })));
  };
  const confirm = async (data: FormData) => {
    const body = { code: String(data.get('code')).trim() };
    const { recoveryCodes } = await call(api.POST('/users/@me/totp/confirm', { body }));
    close();
    await onConfirmed(recoveryCodes);
  };
  return (
    <Dialog open={open} onClose={close} title={t.setUpTitle} description={begun ? t.scanText : t.setUpText}>
      {begun ? (
        <Form key="confirm" onSubmit={confirm}>
          <div className="flex flex-wrap items-center gap-4">
            <QrCode text={begun.uri} label={t.qrCode} />
            <div className="min-w-48 flex-1 space-y-1">
              <p className="font-medium">{t.secret}</p>
              <Copyable text={begun.secret} what={t.secret} />
              <p className="text-meta text-muted">{t.secretText}</p>
            </div>
          </div>
          <TextField
            name="code"
            label={t.code}
            hint={t.confirmHint}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={10}
            autoFocus
            required
          />
          <SubmitButton>{t.switchOn}</SubmitButton>
        </Form>
      ) : (
        <Form key="begin" onSubmit={begin}>
          <PasswordField name="password" label={t.currentPassword} autoComplete="current-password" autoFocus required />
          <SubmitButton>{t.next}</SubmitButton>
        </Form>
      )}
    </Dialog>
  );
}
