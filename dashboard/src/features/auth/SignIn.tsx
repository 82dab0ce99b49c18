import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { serviceUrl } from '#/api/base';
import { api, call } from '#/api/client';
import { ApiError } from '#/api/error';
import { queries } from '#/api/query';
import { config } from '#/features/user/queries';
import { pathOf } from '#/router/address';
import { go, text, useSearchState } from '#/router';
import { Button, TextLink } from '#/ui/button';
import { Form, PasswordField, SubmitButton, TextField } from '#/ui/form';
import { Banner } from '#/ui/status';
import { Card } from './Card';
import { Providers } from './Providers';
import { t } from './texts';

/** `next` is where signing in leads, `message` why a provider did not: a code, never a text. */
const SEARCH = { next: text, message: text };

/** Goes where signing in leads: to a page of the dashboard, never elsewhere. */
function land(next: string): void {
  const start = `${location.origin}${serviceUrl('/app/')}`;
  const { href, pathname, searchParams } = new URL(`${start}${next.replace(/^\/+/, '')}`);
  const path = href.startsWith(start) ? pathOf(pathname) : '/';
  go(path.startsWith('//') ? '/' : path, { search: Object.fromEntries(searchParams), replace: true });
}

/** Signing in by password, with the second factor where the account has one, or through a provider. */
export default function SignIn() {
  const [{ next, message }] = useSearchState(SEARCH);
  const { data: instance } = useQuery(config);
  const [credentials, setCredentials] = useState<{ email: string; password: string }>();
  // the address is anybody's, and every object has more names than its own
  const refusal = Object.hasOwn(t.refusals, message) ? t.refusals[message] : undefined;

  const signIn = async (body: { email: string; password: string; code?: string }) => {
    try {
      await call(api.POST('/auth/login', { body }));
    } catch (error) {
      if (error instanceof ApiError && error.code === 'TOTP_REQUIRED') {
        setCredentials({ email: body.email, password: body.password });
        return;
      }
      throw error;
    }
    queries.clear();
    land(next);
  };

  if (credentials) {
    return (
      <Card title={t.secondFactor} lead={t.secondFactorText}>
        <Form key="code" onSubmit={(data) => signIn({ ...credentials, code: String(data.get('code') ?? '').trim() })}>
          <TextField
            name="code"
            label={t.code}
            hint={t.codeHint}
            autoComplete="one-time-code"
            autoFocus
            required
            maxLength={40}
          />
          <SubmitButton className="w-full">{t.signIn}</SubmitButton>
          <Button variant="ghost" className="w-full" onClick={() => setCredentials(undefined)}>
            {t.another}
          </Button>
        </Form>
      </Card>
    );
  }
  return (
    <Card title={t.signIn}>
      {refusal && <Banner tone="bad">{refusal}</Banner>}
      <Providers />
      <Form
        key="password"
        onSubmit={(data) => signIn({ email: String(data.get('email')), password: String(data.get('password')) })}
      >
        <TextField name="email" type="email" label={t.email} autoComplete="username" autoFocus required />
        <PasswordField name="password" label={t.password} autoComplete="current-password" required />
        <SubmitButton className="w-full">{t.signIn}</SubmitButton>
      </Form>
      <p className="flex flex-wrap justify-between gap-2">
        <TextLink to="/auth/reset-password">{t.forgot}</TextLink>
        {instance?.features.signup.enabled && (
          <span>
            {t.noAccount} <TextLink to="/auth/signup">{t.signUp}</TextLink>
          </span>
        )}
      </p>
    </Card>
  );
}
