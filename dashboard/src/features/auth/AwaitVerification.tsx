import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { signOut } from '#/features/user/session';
import { go } from '#/router';
import { Button } from '#/ui/button';
import { Form, SubmitButton } from '#/ui/form';
import { Card } from './Card';
import { t } from './texts';

/** Stands in for every page while the instance wants the address of the account verified. */
export default function AwaitVerification() {
  const [resent, setResent] = useState(false);
  const goOn = () => {
    queries.clear();
    go('/');
  };
  const resend = async () => {
    await call(api.POST('/auth/request-verification'));
    setResent(true);
  };
  return (
    <Card title={t.verify} lead={t.verifyText}>
      <Button variant="primary" className="w-full" onClick={goOn}>
        {t.goOn}
      </Button>
      <Form onSubmit={resend}>
        <SubmitButton variant="default" className="w-full">
          {t.resend}
        </SubmitButton>
      </Form>
      {/* it is there before its text, so that screen readers follow it */}
      <p role="status" className="empty:sr-only">{resent && t.resent}</p>
      <Button variant="ghost" className="w-full" onClick={() => void signOut()}>
        {t.signOut}
      </Button>
    </Card>
  );
}
