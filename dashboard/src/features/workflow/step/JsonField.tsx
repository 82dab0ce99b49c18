import { useState } from 'react';
import { TextArea } from '#/ui/form';
import { t } from './texts';

/** A value as JSON. What is not JSON is said at once and not taken over. */
export function JsonField({ label, hint, name, value, error, rows = 6, onChange }: {
  label: string;
  hint?: string;
  name: string;
  value: unknown;
  error?: string | undefined;
  rows?: number;
  /** Undefined stands for an empty field; `invalid` for one that is no JSON. */
  onChange: (value: unknown, invalid: boolean) => void;
}) {
  const [text, setText] = useState(() => (value === undefined || value === null ? '' : JSON.stringify(value, undefined, 2)));
  const [invalid, setInvalid] = useState(false);
  const type = (next: string) => {
    setText(next);
    if (next.trim() === '') {
      setInvalid(false);
      onChange(undefined, false);
      return;
    }
    try {
      onChange(JSON.parse(next), false);
      setInvalid(false);
    } catch {
      setInvalid(true);
      onChange(value, true);
    }
  };
  return (
    <TextArea
      label={label}
      hint={hint}
      name={name}
      rows={rows}
      spellCheck={false}
      className="font-mono text-meta"
      value={text}
      error={invalid ? t.issues.json : error}
      onChange={(event) => type(event.target.value)}
    />
  );
}
