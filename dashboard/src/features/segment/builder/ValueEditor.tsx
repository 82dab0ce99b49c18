import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldValues } from '#/features/field/queries';
import { SuggestField } from '#/ui/suggest-field';
import { dayOf, dayValue, isBare, isSpan, type ValueKind } from './rules';
import { t } from './texts';
import type { Rule, Unit } from './tree';

/** How the controls of a rule look. */
export const CONTROL =
  'h-8 min-w-0 rounded-control border border-control bg-panel px-2 text-body text-ink aria-invalid:border-bad pointer-coarse:h-11';

const UNITS: readonly Unit[] = ['minutes', 'hours', 'days'];

interface ValueEditorProps {
  rule: Rule;
  kind: ValueKind;
  invalid: boolean;
  /** Words for the rule, which tell its controls from those of others. */
  name: string;
  onChange: (to: Partial<Rule>) => void;
  onEnter: () => void;
}

/** The control for what a rule compares with: by the operator, and by what the value is. */
export function ValueEditor(props: ValueEditorProps) {
  const { rule, kind, invalid, name, onChange } = props;
  if (isBare(rule.operator) || rule.field === '') return null;
  if (isSpan(rule.operator)) return <SpanEditor {...props} />;
  if (rule.field === 'subscribed' || kind === 'boolean') {
    const isSubscription = rule.field === 'subscribed';
    return (
      <select
        aria-label={`${t.value}: ${name}`}
        value={String(rule.value === true)}
        aria-invalid={invalid || undefined}
        onChange={(event) => onChange({ value: event.target.value === 'true' })}
        className={CONTROL}
      >
        <option value="true">{isSubscription ? t.subscribed : t.yes}</option>
        <option value="false">{isSubscription ? t.unsubscribed : t.no}</option>
      </select>
    );
  }
  if (kind === 'number') {
    return (
      <input
        type="number"
        step="any"
        aria-label={`${t.value}: ${name}`}
        aria-invalid={invalid || undefined}
        value={typeof rule.value === 'number' ? rule.value : ''}
        onChange={(event) => onChange({ value: event.target.value === '' ? undefined : Number(event.target.value) })}
        onKeyDown={(event) => event.key === 'Enter' && props.onEnter()}
        className={`${CONTROL} w-32`}
      />
    );
  }
  const day = kind === 'date' ? dayOf(rule.operator, rule.value) : undefined;
  if (day !== undefined) {
    return (
      <input
        type="date"
        aria-label={`${t.value}: ${name}`}
        title={t.utc}
        aria-invalid={invalid || undefined}
        value={day}
        onChange={(event) => onChange({ value: event.target.value === '' ? undefined : dayValue(rule.operator, event.target.value) })}
        className={CONTROL}
      />
    );
  }
  return <TextEditor {...props} />;
}

function SpanEditor({ rule, invalid, name, onChange, onEnter }: ValueEditorProps) {
  return (
    <span className="flex gap-1">
      <input
        type="number"
        step="any"
        aria-label={`${t.amount}: ${name}`}
        aria-invalid={invalid || undefined}
        value={typeof rule.value === 'number' ? rule.value : ''}
        onChange={(event) => onChange({ value: event.target.value === '' ? undefined : Number(event.target.value) })}
        onKeyDown={(event) => event.key === 'Enter' && onEnter()}
        className={`${CONTROL} w-20`}
      />
      <select
        aria-label={`${t.unit}: ${name}`}
        value={rule.unit ?? 'days'}
        onChange={(event) => onChange({ unit: UNITS.find((unit) => unit === event.target.value) })}
        className={CONTROL}
      >
        {UNITS.map((unit) => (
          <option key={unit} value={unit}>
            {t.units[unit]}
          </option>
        ))}
      </select>
    </span>
  );
}

/** A text, with the values that contacts have in the field as suggestions. */
function TextEditor({ rule, invalid, name, onChange, onEnter }: ValueEditorProps) {
  const [near, setNear] = useState(false);
  const isData = rule.field.startsWith('data.');
  const values = useQuery({ ...fieldValues(rule.field), enabled: near && isData }).data ?? [];
  const texts = values.filter((value) => typeof value === 'string' && value !== '').map(String);
  return (
    <SuggestField
      label={`${t.value}: ${name}`}
      value={typeof rule.value === 'string' ? rule.value : rule.value === undefined ? '' : JSON.stringify(rule.value)}
      suggestions={texts.map((value) => ({ value, text: value }))}
      invalid={invalid}
      maxLength={1000}
      onFocus={() => setNear(true)}
      onType={(text) => onChange({ value: text })}
      onChoose={(chosen) => onChange({ value: chosen.value })}
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        onEnter();
      }}
      className="max-w-64 min-w-40 flex-1"
    />
  );
}
