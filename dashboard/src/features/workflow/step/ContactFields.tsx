import { useQuery } from '@tanstack/react-query';
import { segments } from '#/features/segment/queries';
import { Combobox } from '#/ui/combobox';
import { Select, TextField } from '#/ui/form';
import { asConfig, textAt } from '../model/graph';
import type { Edit } from './edit';
import { Pairs } from './Pairs';
import { t } from './texts';

/** A value as it is typed: JSON where it is some, else the text itself. */
export function parsedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A value as text that `parsedValue` reads again. */
export function typedValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return parsedValue(value) === value ? value : JSON.stringify(value);
}

/** Writes fields of the contact. */
export function UpdateFields({ config, set, fault }: Edit) {
  const updates = asConfig(config.updates);
  const typed = Object.fromEntries(Object.entries(updates).map(([name, value]) => [name, typedValue(value)]));
  return (
    <>
      <Pairs
        legend={t.updates}
        labels={{ name: t.fieldName, value: t.fieldValue, add: t.addField, remove: t.removeField }}
        placeholder={['plan', 'pro']}
        value={typed}
        faults={() => undefined}
        onChange={(to) => set({ updates: Object.fromEntries(Object.entries(to).map(([name, text]) => [name, parsedValue(text)])) })}
      />
      <p className="text-meta text-muted">{t.updateHint}</p>
      <Select
        label={t.subscription}
        name="config.subscriptionAction"
        value={textAt(config, 'subscriptionAction') || 'none'}
        onChange={(event) => set({ subscriptionAction: event.target.value })}
      >
        {(['none', 'subscribe', 'unsubscribe'] as const).map((action) => (
          <option key={action} value={action}>
            {t.subscriptions[action]}
          </option>
        ))}
      </Select>
      {fault('updates') && <p className="text-meta font-medium text-bad">{fault('updates')}</p>}
    </>
  );
}

/** Adds the contact to a static segment, or removes it. */
export function SegmentFields({ config, set, fault }: Edit) {
  const { data } = useQuery(segments());
  const options = (data ?? []).filter((segment) => segment.type === 'STATIC').map((segment) => ({ value: segment.id, label: segment.name }));
  return (
    <Combobox
      label={t.segment}
      name="config.segmentId"
      autoFocus
      value={textAt(config, 'segmentId')}
      options={options}
      placeholder={t.chooseSegment}
      hint={data && options.length === 0 ? t.noStatic : undefined}
      error={fault('segmentId')}
      onChange={(segmentId) => set({ segmentId })}
    />
  );
}

/** Ends the execution. */
export function ExitFields({ config, set, fault }: Edit) {
  return (
    <TextField
      label={t.reason}
      hint={t.reasonHint}
      name="config.reason"
      autoFocus
      value={textAt(config, 'reason')}
      error={fault('reason')}
      onChange={(event) => set({ reason: event.target.value === '' ? undefined : event.target.value })}
    />
  );
}
