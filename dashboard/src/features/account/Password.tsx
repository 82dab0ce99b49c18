import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { sessions, type User } from '#/features/user/queries';
import { Form, PasswordField, SubmitButton } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { t } from './texts';

/** Changing the password. */
export function Password({ user }: { user: User }) {
  // an empty form after each change
  const [round, setRound] = useState(0);
  const change = async (data: FormData) => {
    const body = { currentPassword: String(data.get('currentPassword')), newPassword: String(data.get('newPassword')) };
    await call(api.POST('/users/@me/password', { body }));
    done(t.passwordChanged);
    setRound(round + 1);
    await queries.invalidateQueries({ queryKey: sessions.queryKey });
  };
  if (user.type !== 'PASSWORD') {
    return (
      <Section title={t.password}>
        <p>{t.noPassword}</p>
      </Section>
    );
  }
  return (
    <Section title={t.password} lead={t.passwordText}>
      <Form key={round} onSubmit={change} aria-label={t.password}>
        <input type="hidden" autoComplete="username" value={user.email} readOnly />
        <div className="grid max-w-2xl gap-4 sm:grid-cols-2">
          <PasswordField name="currentPassword" label={t.currentPassword} autoComplete="current-password" required />
          <PasswordField
            name="newPassword"
            label={t.newPassword}
            hint={t.newPasswordHint}
            autoComplete="new-password"
            required
          />
        </div>
        <SubmitButton variant="default">{t.changePassword}</SubmitButton>
      </Form>
    </Section>
  );
}
