import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { SuggestField } from '#/ui/suggest-field';
import { useSearchText } from '#/ui/debounced';
import { Dialog } from '#/ui/dialog';
import { Checkbox, Form, SubmitButton, TextArea } from '#/ui/form';
import { Banner } from '#/ui/status';
import { done } from '#/ui/toast';
import { addressesIn } from './addresses';
import { t } from './texts';

/** How many addresses the API takes at once. */
const AT_ONCE = 500;

/** Puts contacts on the list of a static segment: by their addresses, or found by a part of one. */
export function AddMembers({ segment, open, onClose }: { segment: string; open: boolean; onClose: () => void }) {
  const [text, setText] = useState('');
  const [creates, setCreates] = useState(false);
  const [unknown, setUnknown] = useState<readonly string[]>([]);
  const emails = addressesIn(text);
  const close = () => {
    setText('');
    setUnknown([]);
    onClose();
  };
  const add = async (data: FormData) => {
    const sum = { added: 0, created: 0 };
    const missing: string[] = [];
    for (let from = 0; from < emails.length; from += AT_ONCE) {
      const body = { emails: emails.slice(from, from + AT_ONCE), createMissing: creates, subscribed: data.get('subscribed') === 'on' };
      const answer = await call(api.POST('/segments/{id}/members', { params: { path: { id: segment } }, body }));
      sum.added += answer.added;
      sum.created += answer.created;
      missing.push(...answer.notFound);
    }
    await queries.invalidateQueries({ queryKey: projectKey('segments') });
    if (sum.added > 0) done(t.added(sum.added, sum.created));
    setUnknown(missing);
    setText('');
    if (missing.length === 0) close();
  };
  return (
    <Dialog open={open} onClose={close} title={t.add}>
      <Form onSubmit={add}>
        {unknown.length > 0 && (
          <Banner tone="warn">
            <p role="status">{t.notFound(unknown.length)}</p>
            <p className="max-h-24 overflow-y-auto break-all">{unknown.join(', ')}</p>
          </Banner>
        )}
        <ContactFinder onFound={(email) => setText((before) => (before.trim() ? `${before.trim()}\n${email}` : email))} />
        <TextArea
          label={t.addresses}
          hint={t.addLead}
          rows={6}
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
        />
        <Checkbox label={t.createMissing} checked={creates} onChange={(event) => setCreates(event.target.checked)} />
        {creates && <Checkbox name="subscribed" label={t.createSubscribed} defaultChecked className="ml-6" />}
        <div className="flex justify-end">
          <SubmitButton disabled={emails.length === 0}>{t.addThese(emails.length)}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}

function ContactFinder({ onFound }: { onFound: (email: string) => void }) {
  const { typed, search, type } = useSearchText();
  const found = useQuery({
    queryKey: projectKey('contacts', 'find', search),
    queryFn: ({ signal }) => call(api.GET('/contacts', { params: { query: { search, limit: 10 } }, signal })),
    enabled: search !== '',
    placeholderData: keepPreviousData,
  });
  const contacts = search === '' ? [] : (found.data?.data ?? []);
  return (
    <SuggestField
      label={t.findContact}
      placeholder={t.findContact}
      value={typed}
      suggestions={contacts.map((one) => ({ value: one.email, text: one.email }))}
      nothing={search !== '' && found.data ? t.nobodyFound : undefined}
      onType={type}
      onChoose={(chosen) => {
        onFound(chosen.value);
        type('');
      }}
    />
  );
}
