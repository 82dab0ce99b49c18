import { Select, TextField } from '#/ui/form';
import { UNITS, type Unit } from './kinds';
import { t } from './texts';

/** A length of time: a number and its unit. */
export function LengthFields({ amount, unit, name, error, autoFocus = false, label = t.amount, onChange }: {
  amount: number | undefined;
  unit: Unit;
  name: string;
  error?: string | undefined;
  autoFocus?: boolean;
  label?: string;
  onChange: (amount: number | undefined, unit: Unit) => void;
}) {
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          label={label}
          name={name}
          error={error}
          type="number"
          min={0}
          step="any"
          autoFocus={autoFocus}
          value={amount ?? ''}
          onChange={(event) => onChange(Number.isNaN(event.target.valueAsNumber) ? undefined : event.target.valueAsNumber, unit)}
        />
      </div>
      <div className="w-32 shrink-0">
        <Select label={t.unit} value={unit} onChange={(event) => onChange(amount, event.target.value as Unit)}>
          {(Object.keys(UNITS) as Unit[]).map((one) => (
            <option key={one} value={one}>
              {t.unitNames[one]}
            </option>
          ))}
        </Select>
      </div>
    </div>
  );
}
