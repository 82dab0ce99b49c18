import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, call, currentProject } from '#/api/client';
import { copyOf, fieldsOf } from '#/editor/draft';
import { writeMjml } from '#/editor/mjml';
import { PreviewFrame } from '#/editor/preview/PreviewFrame';
import { blankHtml, type Starter, startersOf } from '#/editor/starters';
import { senderDomains } from '#/features/domain/queries';
import { go } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { ChoiceCards } from '#/ui/choice-cards';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Page } from '#/ui/page';
import { Banner } from '#/ui/status';
import { knowTemplate, template, type TemplateType } from './queries';
import { words } from './starter-words';
import { TemplateField } from './TemplateField';
import { t } from './texts';
import { TypeField } from './TypeField';

type Start = Starter['id'] | 'html' | 'mjml' | 'copy';
const STARTS: readonly Start[] = ['blank', 'welcome', 'newsletter', 'receipt', 'note', 'html', 'mjml', 'copy'];
const STARTERS = startersOf(words);
const HTML = blankHtml(words);
const MJML = `<mjml>
  <mj-body>
    <mj-section>
      <mj-column>
        <mj-text>${words.hello}</mj-text>
      </mj-column>
    </mj-section>
  </mj-body>
</mjml>
`;

const CARDS = STARTS.map((start) => {
  const [title = '', text = ''] = t.starters[start] ?? [];
  return { value: start, title, text, label: `${title}: ${text}` };
});

/** Begins a template: blank, from a starter, as code, or as a copy. */
export default function NewPage() {
  const [start, setStart] = useState<Start>('blank');
  const [type, setType] = useState<TemplateType>('MARKETING');
  const [copyId, setCopyId] = useState('');
  // what somebody typed stays, whatever is loaded later
  const [from, setFrom] = useState<string>();
  const domains = useQuery(senderDomains());
  const copied = useQuery({ ...template(copyId), enabled: start === 'copy' && copyId !== '' });
  const starter = STARTERS.find((one) => one.id === start);
  const domain = domains.data?.[0];
  const preview = useMemo(() => previewOf(start, starter, copied.data?.body), [start, starter, copied.data]);

  const choose = (to: Start) => {
    setStart(to);
    setType(STARTERS.find((one) => one.id === to)?.type ?? 'MARKETING');
  };
  const create = async (data: FormData) => {
    const name = String(data.get('name')).trim();
    const shared = { name, from: String(data.get('from')).trim(), type };
    const subject = starter?.subject || copied.data?.subject || name;
    const created = await call(api.POST('/templates', { body: { ...shared, ...contentOf(start, subject) } }));
    knowTemplate(created);
    go(`/templates/${created.id}`);
  };
  const contentOf = (begun: Start, subject: string) => {
    if (begun === 'html') return { subject, body: HTML };
    if (begun === 'mjml') return { subject, mjml: MJML };
    if (begun !== 'copy') return starter ? fieldsOf({ subject, content: { mode: 'visual', document: starter.document } }) : { subject, body: HTML };
    return { subject, ...copyOf(copied.data ?? { body: HTML }) };
  };

  return (
    <Page title={t.newTitle} above={<TextLink to="/templates">{t.templates}</TextLink>}>
      {domains.data?.length === 0 && (
        <Banner tone="warn" action={<LinkButton to="/settings" search={{ tab: 'domains' }}>{t.addDomain}</LinkButton>}>
          {t.noDomain}
        </Banner>
      )}
      <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <Form onSubmit={create}>
          <ChoiceCards legend={t.beginWith} field="start" value={start} cards={CARDS} columns="sm:grid-cols-2" onChange={choose} />
          {start === 'copy' && (
            <TemplateField label={t.copyOf} placeholder={t.chooseTemplate} value={copyId} onChange={setCopyId} />
          )}
          <TextField name="name" label={t.name} placeholder={t.namePlaceholder} maxLength={100} required autoFocus />
          <div className="grid gap-4 sm:grid-cols-2">
            <TypeField value={type} onChange={setType} />
            <TextField
              name="from"
              type="email"
              label={t.from}
              hint={t.fromHint}
              value={from ?? copied.data?.from ?? (domain ? `hello@${domain}` : '')}
              onChange={(event) => setFrom(event.target.value)}
              required
            />
          </div>
          <SubmitButton disabled={start === 'copy' && !copied.data}>{t.createAction}</SubmitButton>
        </Form>
        <div className="h-[32rem] overflow-hidden rounded-card border border-line max-lg:hidden">
          <PreviewFrame fields={{ projectId: currentProject(), type, ...preview }} title={t.starters[start]?.[0] ?? ''} className="h-full" />
        </div>
      </div>
    </Page>
  );
}

/** What the frame beside the choices shows. */
function previewOf(start: Start, starter: Starter | undefined, copied: string | undefined): { mjml: string } | { body: string } {
  if (starter) return { mjml: writeMjml(starter.document) };
  if (start === 'mjml') return { mjml: MJML };
  return { body: start === 'copy' ? (copied ?? ' ') : HTML };
}
