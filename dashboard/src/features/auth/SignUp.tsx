import { useQuery } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { config } from '#/features/user/queries';
import { go } from '#/router';
import { TextLink } from '#/ui/button';
import { Form, PasswordField, SubmitButton, textOf, TextField } from '#/ui/form';
import { Banner } from '#/ui/status';
import { Card } from './Card';
import { Providers } from './Providers';
import { t } from './texts';

/** Creating an account. It is signed in at once. */
export default function SignUp() {
  const { data: instance } = useQuery(config);
  const signup = instance?.features.signup;
  const create = async (data: FormData) => {
    const name = textOf(data, 'name');
    await call(
      api.POST('/auth/signup', {
        body: {
          email: String(data.get('email')),
          password: String(data.get('password')),
          ...(name ? { name } : {}),
        },
      }),
    );
    queries.clear();
    go('/', { replace: true });
  };
  return (
    <Card
      title={signup?.firstUser ? t.firstAccount : t.signUp}
      lead={signup?.firstUser ? t.firstAccountText : undefined}
    >
      {signup && !signup.enabled ? (
        <Banner tone="warn">{t.signUpsOff}</Banner>
      ) : (
        <>
          <Providers />
          <Form onSubmit={create}>
            <TextField name="email" type="email" label={t.email} autoComplete="username" autoFocus required />
            <TextField name="name" label={t.name} autoComplete="name" />
            <PasswordField
              name="password"
              label={t.password}
              hint={t.passwordHint}
              autoComplete="new-password"
              required
            />
            <SubmitButton className="w-full">{t.signUp}</SubmitButton>
          </Form>
        </>
      )}
      <p>
        {t.haveAccount} <TextLink to="/auth/login">{t.signIn}</TextLink>
      </p>
    </Card>
  );
}
