import { useQuery } from '@tanstack/react-query';
import { segments } from '#/features/segment/queries';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { Combobox } from '#/ui/combobox';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton } from '#/ui/form';
import { done } from '#/ui/toast';
import { asConfig } from '../model/graph';
import { refresh } from '../queries';
import { JsonField } from '../step/JsonField';
import { ContactField } from './ContactField';
import { t } from './texts';

/** The context of executions that are begun here. */
function useContextField() {
  const [context, setContext] = useState<unknown>();
  const [invalid, setInvalid] = useState(false);
  const field = (
    <JsonField
      label={t.context}
      hint={t.contextHint}
      name="context"
      rows={4}
      value={context}
      onChange={(next, isInvalid) => {
        setInvalid(isInvalid);
        if (!isInvalid) setContext(next);
      }}
    />
  );
  const body = context === undefined ? {} : { context: asConfig(context) as Record<string, never> };
  return { field, invalid, body };
}

/** Starts the workflow for one contact. */
export function StartDialog({ workflow, onClose, onStarted }: { workflow: string; onClose: () => void; onStarted: (execution: string) => void }) {
  const [contactId, setContactId] = useState('');
  const { field, invalid, body } = useContextField();
  const start = () => {
    if (invalid) return;
    const request = api.POST('/workflows/{id}/executions', { params: { path: { id: workflow } }, body: { contactId, ...body } });
    return call(request).then(async (made) => {
      await refresh(workflow);
      done(t.started);
      onStarted(made.id);
    });
  };
  return (
    <Dialog open onClose={onClose} title={t.start} description={t.startText}>
      <Form onSubmit={start}>
        <ContactField label={t.contact} name="contactId" value={contactId} onChange={setContactId} />
        {field}
        <SubmitButton className="w-full" disabled={contactId === ''}>
          {t.startAction}
        </SubmitButton>
      </Form>
    </Dialog>
  );
}

/** Starts the workflow for the members of a segment. */
export function EnrolDialog({ workflow, onClose, onQueued }: { workflow: string; onClose: () => void; onQueued: (job: string) => void }) {
  const { data } = useQuery(segments());
  const [segmentId, setSegmentId] = useState('');
  const { field, invalid, body } = useContextField();
  const enrol = () => {
    if (invalid) return;
    const request = api.POST('/workflows/{id}/enrol', { params: { path: { id: workflow } }, body: { segmentId, ...body } });
    return call(request).then((queued) => onQueued(queued.jobId));
  };
  return (
    <Dialog open onClose={onClose} title={t.enrol} description={t.enrolText}>
      <Form onSubmit={enrol}>
        <Combobox
          label={t.segment}
          name="segmentId"
          autoFocus
          required
          value={segmentId}
          options={(data ?? []).map((segment) => ({ value: segment.id, label: segment.name }))}
          onChange={setSegmentId}
        />
        {field}
        <SubmitButton className="w-full" disabled={segmentId === ''}>
          {t.enrolAction}
        </SubmitButton>
      </Form>
    </Dialog>
  );
}
