import { ExternalLink } from 'lucide';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { serviceUrl } from '#/api/base';
import { Button } from '#/ui/button';
import { Copyable, CopyButton } from '#/ui/copy';
import { Form, SubmitButton, Switch, textOf, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Facts, Section } from '#/ui/page';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import type { Contact } from './queries';
import { t } from './texts';

async function update(id: string, body: Schemas['UpdateContactRequest']): Promise<Contact> {
  const saved = await call(api.PATCH('/contacts/{id}', { params: { path: { id } }, body }));
  queries.setQueryData(projectKey('contacts', 'one', id), saved);
  void queries.invalidateQueries({ queryKey: projectKey('contacts') });
  return saved;
}

/** The address of a contact, whether it gets marketing mail, and its public pages. */
export function Profile({ contact }: { contact: Contact }) {
  const [editing, setEditing] = useState(false);
  const { id, email, subscribed } = contact;
  const subscribe = async (to: boolean) => {
    const key = projectKey('contacts', 'one', id);
    queries.setQueryData(key, { ...contact, subscribed: to });
    try {
      const saved = await update(id, { subscribed: to });
      if (saved.subscribed !== to) done(t.asked(email));
      else done(to ? t.nowSubscribed(email) : t.nowUnsubscribed(email), () => void subscribe(!to));
    } catch (error) {
      queries.setQueryData(key, contact);
      failed(error);
    }
  };
  const save = async (data: FormData) => {
    await update(id, { email: textOf(data, 'email') ?? '' });
    setEditing(false);
    done(t.saved);
  };
  const pages = [
    [t.manage, `/manage/${id}`],
    [t.unsubscribePage, `/unsubscribe/${id}`],
    [t.subscribePage, `/subscribe/${id}`],
  ] as const;
  return (
    <Section title={t.profile}>
      <div className="space-y-4">
        {editing ? (
          <Form onSubmit={save} className="space-y-2!">
            <TextField name="email" type="email" label={t.email} defaultValue={email} required autoFocus autoComplete="off" maxLength={254} />
            <div className="flex justify-end gap-2">
              <Button size="small" onClick={() => setEditing(false)}>
                {t.cancel}
              </Button>
              <SubmitButton size="small">{t.save}</SubmitButton>
            </div>
          </Form>
        ) : (
          <div className="flex items-center gap-1">
            <span className="min-w-0 flex-1 font-medium break-all">{email}</span>
            <CopyButton text={email} what={t.email} />
            <Button size="small" onClick={() => setEditing(true)}>
              {t.changeEmail}
            </Button>
          </div>
        )}
        <Switch label={t.marketing} hint={t.marketingHint} checked={subscribed} onChange={(to) => void subscribe(to)} />
        <Facts
          rows={[
            [t.created, <Time key="created" at={contact.createdAt} />],
            [t.changed, <Time key="changed" at={contact.updatedAt} />],
            [t.id, <Copyable key="id" text={id} what={t.id} />],
          ]}
        />
        <div>
          <p className="font-medium">{t.links}</p>
          <p className="text-meta text-muted">{t.linksHint}</p>
          <ul className="mt-1">
            {pages.map(([name, path]) => (
              <li key={path} className="flex items-center justify-between gap-2">
                <a
                  href={serviceUrl(path)}
                  target="_blank"
                  rel="noreferrer"
                  className="inline-flex min-h-6 items-center gap-1 text-accent underline-offset-2 hover:underline pointer-coarse:min-h-11"
                >
                  {name}
                  <Icon of={ExternalLink} size={12} />
                </a>
                <CopyButton text={new URL(serviceUrl(path), location.href).href} what={name} />
              </li>
            ))}
          </ul>
        </div>
      </div>
    </Section>
  );
}
