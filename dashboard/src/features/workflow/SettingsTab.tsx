import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { go } from '#/router';
import { dropGuards } from '#/router/navigate';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Checkbox, Form, Select, SubmitButton, TextArea, TextField, textOf } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { Unsaved } from '#/ui/unsaved';
import { remove } from './changes';
import { asConfig, type Config, textAt } from './model/graph';
import { refresh, type Workflow } from './queries';
import { EventField } from './step/EventField';
import { FilterField } from './step/FilterField';
import { t } from './texts';
import { TriggerForm } from './TriggerForm';

type OnDirty = (isDirty: boolean) => void;

async function save(id: string, body: Schemas['UpdateWorkflowRequest'], onDirty: OnDirty): Promise<void> {
  await call(api.PATCH('/workflows/{id}', { params: { path: { id } }, body }));
  // what is read again is what was saved
  onDirty(false);
  await refresh();
  done(t.saved);
}

/** What a workflow is called, what starts it, and what it is for. */
export default function SettingsTab({ workflow }: { workflow: Workflow }) {
  const [deleting, setDeleting] = useState(false);
  return (
    <div className="max-w-3xl space-y-6">
      <Unsaved>{(onDirty) => <General workflow={workflow} onDirty={onDirty} />}</Unsaved>
      <Section title={t.trigger} lead={t.triggerLead}>
        <Unsaved stored={JSON.stringify([workflow.triggerType, workflow.triggerConfig])}>
          {(onDirty) => <TriggerForm workflow={workflow} onDirty={onDirty} />}
        </Unsaved>
      </Section>
      <Unsaved stored={JSON.stringify(workflow.goal ?? null)}>{(onDirty) => <Goal workflow={workflow} onDirty={onDirty} />}</Unsaved>
      <Section title={t.danger} lead={t.dangerLead} danger>
        <Button variant="danger" onClick={() => setDeleting(true)}>
          {t.delete}
        </Button>
        <Confirm
          open={deleting}
          onClose={() => setDeleting(false)}
          title={t.deleteTitle(workflow.name)}
          action={t.delete}
          typed={workflow.name}
          onConfirm={async () => {
            await remove(workflow.id);
            dropGuards();
            go('/workflows');
          }}
        >
          <p>{t.deleteText}</p>
        </Confirm>
      </Section>
    </div>
  );
}

function General({ workflow, onDirty }: { workflow: Workflow; onDirty: OnDirty }) {
  const submit = (data: FormData) => {
    const body = {
      name: textOf(data, 'name') ?? '',
      description: textOf(data, 'description') ?? null,
      allowReentry: data.get('allowReentry') === 'on',
    };
    return save(workflow.id, body, onDirty);
  };
  return (
    <Section title={t.general} lead={t.generalLead}>
      <Form onSubmit={submit} onChange={() => onDirty(true)}>
        <TextField name="name" label={t.name} defaultValue={workflow.name} maxLength={100} required />
        <TextArea name="description" label={t.description} hint={t.descriptionHint} defaultValue={workflow.description ?? ''} maxLength={500} />
        <Checkbox name="allowReentry" label={t.reentry} hint={t.reentryHint} defaultChecked={workflow.allowReentry} />
        <SubmitButton variant="default">{t.save}</SubmitButton>
      </Form>
    </Section>
  );
}

type GoalKind = 'none' | 'event' | 'filter';

function kindOf(goal: Config): GoalKind {
  if (goal.filter) return 'filter';
  return textAt(goal, 'eventName') ? 'event' : 'none';
}

function Goal({ workflow, onDirty }: { workflow: Workflow; onDirty: OnDirty }) {
  const before = asConfig(workflow.goal);
  const [kind, setKind] = useState<GoalKind>(kindOf(before));
  const [eventName, setEventName] = useState(textAt(before, 'eventName'));
  const [filter, setFilter] = useState<unknown>(before.filter);
  const [invalid, setInvalid] = useState(!before.filter);
  const [tried, setTried] = useState(false);
  const submit = () => {
    setTried(true);
    if (kind === 'filter' && invalid) return;
    const goal = kind === 'none' ? null : kind === 'event' ? { eventName } : { filter };
    return save(workflow.id, { goal: goal as Record<string, never> | null }, onDirty);
  };
  return (
    <Section title={t.goal} lead={t.goalLead}>
      <Form onSubmit={submit}>
        <Select
          label={t.goalKind}
          name="goal"
          value={kind}
          onChange={(event) => {
            onDirty(true);
            setKind(event.target.value as GoalKind);
          }}
        >
          {(['none', 'event', 'filter'] as const).map((one) => (
            <option key={one} value={one}>
              {t.goals[one]}
            </option>
          ))}
        </Select>
        {kind === 'event' && (
          <EventField
            label={t.goals.event}
            name="goal.eventName"
            value={eventName}
            placeholder="bought"
            onChange={(next) => {
              onDirty(true);
              setEventName(next);
            }}
          />
        )}
        {kind === 'filter' && (
          <FilterField
            label={t.filter}
            hint={t.goalFilterHint}
            name="goal.filter"
            value={filter}
            error={tried && invalid ? t.filterFault : undefined}
            onChange={(next, isInvalid) => {
              onDirty(true);
              setInvalid(isInvalid);
              setFilter(next);
            }}
          />
        )}
        <SubmitButton variant="default">{t.save}</SubmitButton>
      </Form>
    </Section>
  );
}
