import { Select, TextField } from '#/ui/form';
import { t } from './texts';

type Kind = 'text' | 'number' | 'boolean';

function kindOf(value: unknown): Kind {
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'text';
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

function converted(value: unknown, kind: Kind): unknown {
  if (kind === 'boolean') return value === true || value === 'true';
  if (kind === 'number') return Number(value) || 0;
  return asText(value);
}

/** A value of a type: types are not converted when values are compared. */
export function ValueField({ label, name, value, error, onChange }: {
  label: string;
  name?: string;
  value: unknown;
  error?: string | undefined;
  onChange: (value: unknown) => void;
}) {
  const kind = kindOf(value);
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 flex-1">
        {kind === 'boolean' ? (
          <Select label={label} name={name} error={error} hideLabel value={String(value)} onChange={(event) => onChange(event.target.value === 'true')}>
            <option value="true">{t.yes}</option>
            <option value="false">{t.no}</option>
          </Select>
        ) : (
          <TextField
            label={label}
            name={name}
            error={error}
            hideLabel
            type={kind === 'number' ? 'number' : 'text'}
            step="any"
            value={asText(value)}
            placeholder={label}
            onChange={(event) => onChange(kind === 'number' ? event.target.valueAsNumber || 0 : event.target.value)}
          />
        )}
      </div>
      <div className="w-28 shrink-0">
        <Select
          label={`${label}: ${t.valueType}`}
          hideLabel
          value={kind}
          onChange={(event) => onChange(converted(value, event.target.value as Kind))}
        >
          {(['text', 'number', 'boolean'] as const).map((one) => (
            <option key={one} value={one}>
              {t.types[one]}
            </option>
          ))}
        </Select>
      </div>
    </div>
  );
}
