import { RotateCcw } from 'lucide';
import { useEffect, useState } from 'react';
import { IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Field } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { t } from '../texts';

const SMALL = 'h-8 rounded-control border border-control bg-panel px-2 text-body text-ink pointer-coarse:h-11';

/** A colour; empty is that of the design, where there is one. */
export function ColorField({ label, value, fallback, onChange }: {
  label: string;
  value: string;
  /** What an empty value looks like; without it, the colour cannot be empty. */
  fallback?: string;
  onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const isColor = (given: string) => /^#[0-9a-f]{6}$/i.test(given);
  return (
    <Field label={label}>
      {(control) => (
        <div className="flex items-center gap-1">
          <input
            type="color"
            aria-label={label}
            value={isColor(value) ? value : (fallback ?? '#000000')}
            onChange={(event) => onChange(event.target.value)}
            className="size-8 shrink-0 rounded-control border border-control bg-panel p-1 pointer-coarse:size-11"
          />
          <input
            type="text"
            {...control}
            value={text}
            maxLength={7}
            spellCheck={false}
            placeholder={fallback === undefined ? '#000000' : t.fromTheme}
            onChange={(event) => {
              setText(event.target.value);
              if (isColor(event.target.value)) onChange(event.target.value.toLowerCase());
              else if (event.target.value === '' && fallback !== undefined) onChange('');
            }}
            onBlur={() => setText(value)}
            className={classes(SMALL, 'min-w-0 flex-1 font-mono text-meta')}
          />
          {fallback !== undefined && value !== '' && (
            <IconButton label={`${label}: ${t.fromTheme}`} size="small" onClick={() => onChange('')}>
              <Icon of={RotateCcw} size={13} />
            </IconButton>
          )}
        </div>
      )}
    </Field>
  );
}

/** A whole number with bounds. */
export function NumberField({ label, hint, value, min = 0, max, onChange }: {
  label: string;
  hint?: string;
  value: number;
  min?: number;
  max: number;
  onChange: (value: number) => void;
}) {
  const [text, setText] = useState(String(value));
  useEffect(() => setText(String(value)), [value]);
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          type="number"
          {...control}
          value={text}
          min={min}
          max={max}
          onChange={(event) => {
            setText(event.target.value);
            const given = Number(event.target.value);
            if (event.target.value !== '' && given >= min && given <= max) onChange(Math.round(given));
          }}
          onBlur={() => setText(String(value))}
          className={classes(SMALL, 'tabular w-full')}
        />
      )}
    </Field>
  );
}

/** One of a few. */
export function ChoiceField({ label, value, choices, onChange }: {
  label: string;
  value: string;
  choices: readonly (readonly [value: string, name: string])[];
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.target.value)} className={classes(SMALL, 'w-full')}>
          {choices.map(([key, name]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Where something stands in its line. */
export function AlignField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const choices = [['left', t.left], ['center', t.center], ['right', t.right]] as const;
  return <ChoiceField label={t.align} value={value} choices={choices} onChange={onChange} />;
}

/** The room above, below and beside a block. */
export function RoomFields({ attrs, onChange }: { attrs: Record<string, unknown>; onChange: (attrs: Record<string, unknown>) => void }) {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{t.room}</legend>
      <div className="grid grid-cols-3 gap-2">
        {(['top', 'bottom', 'sides'] as const).map((side) => (
          <NumberField key={side} label={t[side]} value={Number(attrs[side])} max={200} onChange={(value) => onChange({ [side]: value })} />
        ))}
      </div>
    </fieldset>
  );
}
