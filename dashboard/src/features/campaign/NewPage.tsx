import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { copyOf, fieldsOf } from '#/editor/draft';
import { blankHtml, startersOf } from '#/editor/starters';
import { senderDomains } from '#/features/domain/queries';
import { template } from '#/features/template/queries';
import { words } from '#/features/template/starter-words';
import { queries } from '#/api/query';
import { go, oneOf, text, useSearchState } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { Form, SubmitButton, textOf, TextField } from '#/ui/form';
import { Page } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { done } from '#/ui/toast';
import { campaigns, duplicate, know, save } from './queries';
import { SourceField } from './SourceField';
import { StartChoice, STARTS, type Start } from './StartChoice';
import { t } from './texts';

/** `template` names the template to start from, as the page of a template links here. */
const SEARCH = { start: oneOf(STARTS), template: text };
const STARTERS = startersOf(words);
const HTML = blankHtml(words);

/** Begins a campaign: from nothing, from a starter, as code, from a template, or from an earlier campaign. */
export default function NewCampaignPage() {
  const [{ start: wanted, template: given }, setSearch] = useSearchState(SEARCH);
  const start: Start = given ? 'template' : wanted;
  const [source, setSource] = useState(given);
  const [typed, setTyped] = useState('');
  const { data: senders } = useQuery(senderDomains());
  const { data: earlier } = useQuery(campaigns(1, '', ''));
  const last = earlier?.data.find((one) => senders?.includes(one.from.split('@')[1] ?? ''));
  const isCopy = start === 'template' || start === 'campaign';

  const create = async (data: FormData) => {
    const name = textOf(data, 'name') ?? '';
    if (start === 'campaign') {
      const copy = await duplicate(source);
      return opened(await save(copy.id, { name }));
    }
    const made = await call(api.POST('/campaigns', { body: { name, audienceType: 'ALL', ...(await fields(data)) } }));
    return opened(made.data);
  };
  const fields = async (data: FormData) => {
    if (start === 'template') {
      const base = await queries.fetchQuery(template(source));
      const { subject, from, fromName = null, replyTo = null, type, topicId = null, tracking = null } = base;
      return { subject, from, fromName, replyTo, type, topicId, tracking, ...copyOf(base) };
    }
    const subject = textOf(data, 'subject') ?? '';
    const shared = { from: textOf(data, 'from') ?? '', fromName: textOf(data, 'fromName') ?? null, type: 'MARKETING' as const };
    const starter = STARTERS.find((one) => one.id === start);
    const content = starter ? fieldsOf({ subject, content: { mode: 'visual', document: starter.document } }) : { body: HTML };
    return { ...shared, ...content, subject };
  };

  return (
    <Page title={t.create} above={<TextLink to="/campaigns">{t.title}</TextLink>}>
      {!senders || !earlier ? (
        <Skeleton rows={5} />
      ) : senders.length === 0 ? (
        <Banner
          tone="warn"
          action={
            <LinkButton to="/settings" search={{ tab: 'domains' }}>
              {t.toDomains}
            </LinkButton>
          }
        >
          {t.noDomain}
        </Banner>
      ) : (
        <Form onSubmit={create} className="max-w-3xl">
          <StartChoice
            value={start}
            onChange={(to) => {
              setSource('');
              setSearch({ start: to, template: '' });
            }}
          />
          {isCopy && <SourceField kind={start} value={source} onChange={setSource} />}
          <TextField name="name" label={t.name} hint={t.nameHint} autoFocus maxLength={100} required />
          {!isCopy && (
            <>
              <TextField
                name="subject"
                label={t.subject}
                hint={t.subjectHint}
                maxLength={998}
                // it is there again after a look at another beginning
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
                required
              />
              <div className="grid gap-4 sm:grid-cols-2">
                <TextField
                  name="from"
                  type="email"
                  label={t.from}
                  hint={t.fromHint}
                  defaultValue={last?.from ?? `hello@${senders[0] ?? ''}`}
                  required
                />
                <TextField name="fromName" label={t.fromName} hint={t.fromNameHint} defaultValue={last?.fromName ?? ''} maxLength={255} />
              </div>
            </>
          )}
          <SubmitButton disabled={isCopy && source === ''}>{t.createAction}</SubmitButton>
        </Form>
      )}
    </Page>
  );
}

function opened(made: Schemas['EditedView_CampaignView']): void {
  know(made);
  done(t.created);
  go(`/campaigns/${made.id}`, { replace: true });
}
