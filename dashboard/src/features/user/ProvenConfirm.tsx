import { useQuery } from '@tanstack/react-query';
import { type ComponentProps, useState } from 'react';
import type { Schemas } from '#/api/client';
import { ApiError } from '#/api/error';
import { Confirm } from '#/ui/dialog';
import { PasswordField, textOf, TextField } from '#/ui/form';
import { me, secondFactor } from './queries';
import { t } from './texts';

/** What proves that it is still the person who signed in. */
export type Proof = Schemas['ProofRequest'];

type Props = Omit<ComponentProps<typeof Confirm>, 'onConfirm'> & {
  onConfirm: (proof: Proof, data: FormData) => Promise<unknown>;
};

/**
 * Asks before something that needs a session of the last minutes or the password. The password, and the code where there
 * is a second factor, are asked for only once the service wants them.
 */
export function ProvenConfirm({ onConfirm, onClose, fields, ...rest }: Props) {
  const [asked, setAsked] = useState(false);
  const { data: user } = useQuery(me);
  const { data: factor } = useQuery({ ...secondFactor, enabled: asked });
  const confirm = async (data: FormData) => {
    const password = textOf(data, 'password');
    const code = textOf(data, 'code');
    try {
      return await onConfirm({ ...(password ? { password } : {}), ...(code ? { code } : {}) }, data);
    } catch (error) {
      // who signs in at a provider has no password: the service says what to do instead
      const wanted = error instanceof ApiError && error.code === 'PASSWORD_REQUIRED' && user?.type === 'PASSWORD';
      if (!wanted || asked) throw error;
      setAsked(true);
      return 'stay';
    }
  };
  return (
    <Confirm
      {...rest}
      onClose={() => {
        setAsked(false);
        onClose();
      }}
      onConfirm={confirm}
      fields={
        <>
          {fields}
          {asked && (
            <>
              <PasswordField
                name="password"
                label={t.password}
                hint={t.proofHint}
                autoComplete="current-password"
                autoFocus
                required
              />
              {factor?.enabled && (
                <TextField
                  name="code"
                  label={t.code}
                  hint={t.codeHint}
                  autoComplete="one-time-code"
                  maxLength={40}
                  required
                />
              )}
            </>
          )}
        </>
      }
    />
  );
}
