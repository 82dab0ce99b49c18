import { useState } from 'react';
import { api, call } from '#/api/client';
import { TopicField, topicIn } from '#/features/topic/TopicField';
import { go } from '#/router';
import { dropGuards } from '#/router/navigate';
import { Button } from '#/ui/button';
import { CodeBlock, Copyable } from '#/ui/copy';
import { Form, Select, SubmitButton, TextArea, TextField, textOf } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { DeleteTemplate } from './DeleteTemplate';
import { sendExample } from './example';
import { knowTemplate, type Template } from './queries';
import { t } from './texts';
import { TypeField } from './TypeField';

/** What a template is called, who sends it, and how it is used. */
export function SettingsPart({ stored, onDirty }: { stored: Template; onDirty: (isDirty: boolean) => void }) {
  const [type, setType] = useState(stored.type);
  const [deleting, setDeleting] = useState(false);
  const save = async (data: FormData) => {
    const tracking = textOf(data, 'tracking');
    const body = {
      name: textOf(data, 'name') ?? '',
      type,
      description: textOf(data, 'description') ?? null,
      from: textOf(data, 'from') ?? '',
      fromName: textOf(data, 'fromName') ?? null,
      replyTo: textOf(data, 'replyTo') ?? null,
      ...topicIn(data),
      tracking: tracking ? tracking === 'true' : null,
    };
    knowTemplate(await call(api.PATCH('/templates/{id}', { params: { path: { id: stored.id } }, body })));
    onDirty(false);
    done(t.settingsSaved);
  };
  return (
    <div className="grid max-w-4xl gap-4">
      <Section title={t.general}>
        <Form onSubmit={save} onChange={() => onDirty(true)}>
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField name="name" label={t.name} defaultValue={stored.name} maxLength={100} required />
            <TypeField value={type} onChange={setType} />
            <TextField name="from" type="email" label={t.from} hint={t.fromHint} defaultValue={stored.from} required />
            <TextField name="fromName" label={t.fromName} defaultValue={stored.fromName ?? ''} maxLength={255} />
            <TextField name="replyTo" type="email" label={t.replyTo} hint={t.replyToHint} defaultValue={stored.replyTo ?? ''} />
            <TopicField label={t.topic} hint={t.topicHint} none={t.noTopic} stored={stored.topicId} />
            <Select name="tracking" label={t.tracking} defaultValue={String(stored.tracking ?? '')}>
              {Object.entries(t.trackingChoices).map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </Select>
          </div>
          <TextArea name="description" label={t.description} hint={t.descriptionHint} defaultValue={stored.description ?? ''} maxLength={500} rows={2} />
          <SubmitButton>{t.save}</SubmitButton>
        </Form>
      </Section>
      <Section title={t.callIt}>
        <p className="mb-2">
          {t.id}: <Copyable text={stored.id} what={t.id} />
        </p>
        <CodeBlock code={sendExample(stored.id)} what={t.callName} />
      </Section>
      <Section title={t.dangerTitle} danger>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="text-muted">{t.deleteText}</p>
          <Button variant="danger" onClick={() => setDeleting(true)}>
            {t.delete}
          </Button>
        </div>
      </Section>
      {deleting && (
        <DeleteTemplate
          id={stored.id}
          name={stored.name}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            dropGuards();
            go('/templates', { replace: true });
          }}
        />
      )}
    </div>
  );
}
