import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { secondFactor, sessions, type User } from '#/features/user/queries';
import { plural, number } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { PasswordField, TextField } from '#/ui/form';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { done } from '#/ui/toast';
import { RecoveryCodes } from './RecoveryCodes';
import { SetUpFactor } from './SetUpFactor';
import { t } from './texts';

/** How many recovery codes are few. */
const FEW = 3;

/** The second factor: setting it up, its recovery codes, and removing it. */
export function SecondFactor({ user }: { user: User }) {
  const [doing, setDoing] = useState<'set-up' | 'renew' | 'remove'>();
  const [codes, setCodes] = useState<readonly string[]>();
  const { data, error, refetch } = useQuery(secondFactor);
  const reload = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: secondFactor.queryKey }),
      queries.invalidateQueries({ queryKey: sessions.queryKey }),
    ]);
  const close = () => setDoing(undefined);
  const proofOf = (form: FormData) => ({
    password: String(form.get('password')),
    code: String(form.get('code')).trim(),
  });
  const show = async (fresh: readonly string[]) => {
    setCodes(fresh);
    await reload();
  };
  const renew = async (form: FormData) => {
    const body = proofOf(form);
    await show((await call(api.POST('/users/@me/totp/recovery-codes', { body }))).recoveryCodes);
  };
  const remove = async (form: FormData) => {
    await call(api.DELETE('/users/@me/totp', { body: proofOf(form) }));
    setCodes(undefined);
    done(t.factorRemoved);
    await reload();
  };
  const left = data?.recoveryCodesLeft ?? 0;

  return (
    <Section
      title={t.factor}
      lead={t.factorText}
      actions={
        data &&
        user.type === 'PASSWORD' &&
        (data.enabled ? (
          <>
            <Button onClick={() => setDoing('renew')}>{t.renew}</Button>
            <Button onClick={() => setDoing('remove')}>{t.removeFactor}</Button>
          </>
        ) : (
          <Button onClick={() => setDoing('set-up')}>{t.setUp}</Button>
        ))
      }
    >
      <div className="space-y-4">
        {error && !data ? (
          <Problem error={error} onRetry={() => void refetch()} />
        ) : !data ? (
          <Skeleton rows={1} />
        ) : user.type !== 'PASSWORD' ? (
          <p>{t.factorAtProvider}</p>
        ) : (
          <p className="flex flex-wrap gap-x-4 gap-y-1">
            <Status tone={data.enabled ? 'good' : 'muted'}>{data.enabled ? t.factorOn : t.factorOff}</Status>
            {data.enabled && (
              <Status tone={left <= FEW ? 'warn' : 'muted'}>
                {plural(left, { one: t.oneCodeLeft, other: t.codesLeft(number(left)) })}
              </Status>
            )}
          </p>
        )}
        {codes && <RecoveryCodes codes={codes} onDone={() => setCodes(undefined)} />}
      </div>
      <SetUpFactor open={doing === 'set-up'} onClose={close} onConfirmed={show} />
      <Confirm
        open={doing === 'renew'}
        onClose={close}
        title={t.renewQuestion}
        action={t.renew}
        danger={false}
        fields={<ProofFields />}
        onConfirm={renew}
      >
        <p>{t.renewText}</p>
      </Confirm>
      <Confirm
        open={doing === 'remove'}
        onClose={close}
        title={t.removeQuestion}
        action={t.removeFactor}
        fields={<ProofFields />}
        onConfirm={remove}
      >
        <p>{t.removeText}</p>
      </Confirm>
    </Section>
  );
}

/** The password and a code, which changes of the second factor always need. */
function ProofFields() {
  return (
    <>
      <PasswordField name="password" label={t.currentPassword} autoComplete="current-password" required />
      <TextField name="code" label={t.code} hint={t.codeHint} autoComplete="one-time-code" maxLength={40} required />
    </>
  );
}
