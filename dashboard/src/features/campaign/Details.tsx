import { useState } from 'react';
import { TypeField } from '#/features/template/TypeField';
import { TopicField, topicIn } from '#/features/topic/TopicField';
import { Form, Select, SubmitButton, TextArea, textOf, TextField } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { type Campaign, save } from './queries';
import { t } from './texts';

/** Who a campaign is from, what it is about, and what kind of mail it is. */
export function Details({ campaign, onDirty }: { campaign: Campaign; onDirty: (isDirty: boolean) => void }) {
  const [type, setType] = useState(campaign.type);
  const store = async (data: FormData) => {
    const tracking = textOf(data, 'tracking');
    await save(campaign.id, {
      name: textOf(data, 'name') ?? '',
      description: textOf(data, 'description') ?? null,
      from: textOf(data, 'from') ?? '',
      fromName: textOf(data, 'fromName') ?? null,
      replyTo: textOf(data, 'replyTo') ?? null,
      type,
      ...topicIn(data),
      tracking: tracking ? tracking === 'true' : null,
    });
    onDirty(false);
    done(t.saved);
  };
  return (
    <div className="max-w-4xl">
      <Section title={t.part.settings}>
        <Form onSubmit={store} onChange={() => onDirty(true)}>
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField name="name" label={t.name} hint={t.nameHint} defaultValue={campaign.name} required />
            <TextField name="from" type="email" label={t.from} hint={t.fromHint} defaultValue={campaign.from} required />
            <TextField name="fromName" label={t.fromName} defaultValue={campaign.fromName ?? ''} />
            <TextField name="replyTo" type="email" label={t.replyTo} defaultValue={campaign.replyTo ?? ''} />
            <TypeField value={type} onChange={setType} />
            <TopicField label={t.topic} hint={t.topicHint} none={t.noTopic} stored={campaign.topicId} />
            <Select name="tracking" label={t.tracking} defaultValue={String(campaign.tracking ?? '')}>
              {Object.entries(t.trackingChoices).map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </Select>
          </div>
          <TextArea
            name="description"
            label={t.description}
            hint={t.descriptionHint}
            defaultValue={campaign.description ?? ''}
            maxLength={500}
            rows={2}
          />
          <SubmitButton>{t.save}</SubmitButton>
        </Form>
      </Section>
    </div>
  );
}
