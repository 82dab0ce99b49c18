import { useState } from 'react';
import { api, call } from '#/api/client';
import { go } from '#/router';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton, TextField, textOf } from '#/ui/form';
import { refresh } from './queries';
import { EventField } from './step/EventField';
import { t } from './texts';

/** Creating a workflow. It opens in the editor. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const [eventName, setEventName] = useState('');
  const create = async (data: FormData) => {
    const made = await call(api.POST('/workflows', { body: { name: textOf(data, 'name') ?? '', eventName: eventName.trim() } }));
    await refresh();
    go(`/workflows/${made.id}`);
  };
  return (
    <Dialog open onClose={onClose} title={t.new} description={t.createLead}>
      <Form onSubmit={create}>
        <TextField name="name" label={t.name} placeholder={t.namePlaceholder} maxLength={100} required autoFocus />
        <EventField
          name="eventName"
          label={t.event}
          hint={t.eventHint}
          placeholder="signed_up"
          required
          value={eventName}
          onChange={setEventName}
        />
        <p className="text-meta text-muted">{t.otherTrigger}</p>
        <SubmitButton className="w-full">{t.create}</SubmitButton>
      </Form>
    </Dialog>
  );
}
