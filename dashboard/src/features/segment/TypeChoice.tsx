import { useId } from 'react';
import { t } from './texts';

const TYPES = ['DYNAMIC', 'STATIC'] as const;

/** Chooses between a condition and a list. */
export function TypeChoice({ value, onChange }: { value: (typeof TYPES)[number]; onChange: (to: (typeof TYPES)[number]) => void }) {
  const id = useId();
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{t.type}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {TYPES.map((type) => (
          <div
            key={type}
            className="flex gap-2 rounded-control border border-line p-3 has-checked:border-accent has-checked:bg-accent-soft"
          >
            <input
              type="radio"
              id={`${id}-${type}`}
              name={`${id}-type`}
              checked={value === type}
              aria-describedby={`${id}-${type}-hint`}
              onChange={() => onChange(type)}
              className="mt-0.5 size-4 shrink-0 accent-(--accent)"
            />
            <div>
              <label htmlFor={`${id}-${type}`} className="font-medium">
                {t.types[type]}
              </label>
              <p id={`${id}-${type}-hint`} className="text-muted">
                {t.typeHints[type]}
              </p>
            </div>
          </div>
        ))}
      </div>
    </fieldset>
  );
}
