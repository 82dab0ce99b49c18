import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { api, call } from '#/api/client';
import { config } from '#/features/user/queries';
import { TextLink } from '#/ui/button';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Banner } from '#/ui/status';
import { Card } from './Card';
import { t } from './texts';

/** Asks for the link that sets another password. The page of that link is the service's own. */
export default function RequestReset() {
  const [isSent, setSent] = useState(false);
  const said = useRef<HTMLParagraphElement>(null);
  const { data } = useQuery(config);
  const hasMail = data?.features.mail.own ?? true;
  const request = async (form: FormData) => {
    await call(api.POST('/auth/request-password-reset', { body: { email: String(form.get('email')) } }));
    setSent(true);
    // the button that had the focus goes with its form
    said.current?.focus();
  };
  return (
    <Card title={t.reset} lead={isSent || !hasMail ? undefined : t.resetText}>
      {!hasMail ? (
        <Banner tone="warn">
          <p>{t.noMail}</p>
        </Banner>
      ) : (
        <>
          {!isSent && (
            <Form onSubmit={request}>
              <TextField name="email" type="email" label={t.email} autoComplete="username" autoFocus required />
              <SubmitButton className="w-full">{t.send}</SubmitButton>
            </Form>
          )}
          {/* it is there before its text, so that screen readers follow it */}
          <p ref={said} role="status" tabIndex={-1} className="outline-none empty:sr-only">
            {isSent && t.sent}
          </p>
        </>
      )}
      {hasMail && <p className="text-muted">{t.resetByOperator}</p>}
      <p>
        <TextLink to="/auth/login">{t.back}</TextLink>
      </p>
    </Card>
  );
}
