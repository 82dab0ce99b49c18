import { useState } from 'react';
import { Form, Select, SubmitButton, TextArea, TextField } from '#/ui/form';
import type { Schemas } from '#/api/client';
import { readEvents } from './given';
import { t } from './texts';

/** What a rehearsal is asked for. */
export type Request = Schemas['SimulateWorkflowRequest'];
/** What is rehearsed with. */
export type Source = 'days' | 'contact' | 'events';

/** What the address holds of a rehearsal. */
export interface Wishes {
  with: Source;
  days: number;
  contact: string;
  version: number;
  compare: number;
}

/** Asks what to rehearse. */
export function RehearsalForm({ wishes, versions, eventName, onChange, onRun }: {
  wishes: Wishes;
  /** The numbers of the versions, the newest first. */
  versions: readonly number[];
  eventName: string;
  onChange: (change: Partial<Wishes>) => void;
  onRun: (request: Request) => Promise<unknown>;
}) {
  const [text, setText] = useState(
    () => `{"email": "grace@example.org", "event": ${JSON.stringify(eventName || 'signed_up')}, "at": "2030-01-01T09:00:00Z"}`,
  );
  const [until, setUntil] = useState('');
  const [wrong, setWrong] = useState<string>();
  const submit = () => {
    const request: Request = {
      ...(wishes.version > 0 ? { version: wishes.version } : {}),
      ...(wishes.compare > 0 ? { compareWith: wishes.compare } : {}),
    };
    if (wishes.with === 'days') return onRun({ ...request, days: wishes.days });
    if (wishes.with === 'contact') return onRun({ ...request, contact: wishes.contact.trim(), days: wishes.days });
    const read = readEvents(text);
    const fault = read.wrong ? t.line(read.wrong) : read.events.length === 0 ? t.noEvents : undefined;
    setWrong(fault);
    if (fault) return;
    return onRun({ ...request, events: read.events, ...(until ? { until: new Date(until).toISOString() } : {}) });
  };
  return (
    <Form onSubmit={submit}>
      <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
        <Select label={t.what} name="with" value={wishes.with} onChange={(event) => onChange({ with: event.target.value as Source })}>
          {(['days', 'contact', 'events'] as const).map((one) => (
            <option key={one} value={one}>
              {t.whats[one]}
            </option>
          ))}
        </Select>
        {wishes.with === 'contact' && (
          <TextField label={t.contact} name="contact" required placeholder="ada@example.org" value={wishes.contact} onChange={(event) => onChange({ contact: event.target.value })} />
        )}
        {wishes.with !== 'events' && (
          <TextField
            label={t.days}
            name="days"
            type="number"
            min={1}
            max={365}
            required
            value={wishes.days}
            onChange={(event) => onChange({ days: event.target.valueAsNumber || 30 })}
          />
        )}
        {wishes.with === 'events' && (
          <TextField label={t.until} hint={t.untilHint} name="until" type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />
        )}
        <Versions label={t.version} name="version" none={t.edited} versions={versions} value={wishes.version} onChange={(version) => onChange({ version })} />
        <Versions label={t.compare} name="compareWith" none={t.noCompare} versions={versions} value={wishes.compare} onChange={(compare) => onChange({ compare })} />
      </div>
      {wishes.with === 'events' && (
        <TextArea
          label={t.events}
          hint={t.eventsHint}
          name="events"
          rows={5}
          spellCheck={false}
          className="font-mono text-meta"
          value={text}
          error={wrong}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <SubmitButton>{t.run}</SubmitButton>
    </Form>
  );
}

function Versions({ label, name, none, versions, value, onChange }: {
  label: string;
  name: string;
  none: string;
  versions: readonly number[];
  value: number;
  onChange: (version: number) => void;
}) {
  return (
    <Select label={label} name={name} value={value} onChange={(event) => onChange(Number(event.target.value))}>
      <option value={0}>{none}</option>
      {versions.map((version) => (
        <option key={version} value={version}>
          {t.numbered(version)}
        </option>
      ))}
    </Select>
  );
}
