import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { config, me, type User } from '#/features/user/queries';
import { day } from '#/i18n/format';
import { Form, SubmitButton, textOf, TextField } from '#/ui/form';
import { Facts, Section } from '#/ui/page';
import { Status } from '#/ui/status';
import { done } from '#/ui/toast';
import { t } from './texts';

/** Who the person is: name and address, and whether the address is theirs. */
export function Identity({ user }: { user: User }) {
  const [isResent, setResent] = useState(false);
  const { data: instance } = useQuery(config);
  const hasMail = instance?.features.mail.own ?? true;
  const rename = async (data: FormData) => {
    const name = textOf(data, 'name') ?? null;
    queries.setQueryData(me.queryKey, await call(api.PATCH('/users/@me', { body: { name } })));
    done(t.renamed);
  };
  const resend = async () => {
    await call(api.POST('/auth/request-verification'));
    setResent(true);
  };
  return (
    <Section title={t.identity}>
      <div className="space-y-4">
        <Form onSubmit={rename} aria-label={t.identity}>
          <div className="grid max-w-lg grid-cols-[1fr_auto] items-start gap-3">
            <TextField
              name="name"
              label={t.name}
              hint={t.nameHint}
              defaultValue={user.name ?? ''}
              autoComplete="name"
              maxLength={100}
            />
            <SubmitButton variant="default" className="mt-6 h-9!">
              {t.save}
            </SubmitButton>
          </div>
        </Form>
        <Facts
          rows={[
            [
              t.address,
              <div key="address" className="flex flex-wrap items-center gap-x-3 gap-y-1">
                <span className="break-all">{user.email}</span>
                <Status tone={user.emailVerified ? 'good' : 'warn'}>
                  {user.emailVerified ? t.verified : t.unverified}
                </Status>
              </div>,
            ],
            [t.signsIn, user.type === 'PASSWORD' ? t.byPassword : t.byProvider],
            [t.since, day(user.createdAt)],
          ]}
        />
        {!user.emailVerified && (
          <div className="space-y-2 rounded-card border border-warn bg-warn-soft p-3">
            <p>{hasMail ? t.unverifiedText : t.noMail}</p>
            {hasMail && (
              <Form onSubmit={resend}>
                <SubmitButton variant="default">{t.resend}</SubmitButton>
              </Form>
            )}
            <p role="status">{isResent && t.resent}</p>
          </div>
        )}
      </div>
    </Section>
  );
}
