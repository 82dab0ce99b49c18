import { day as dayText } from '#/i18n/format';
import { addDays, isPreset, type Period, PRESETS, rangeOf } from './period';
import { Select, TextField } from './form';
import { t } from './texts';

/**
 * Chooses a period: one with a name, or any days. `value` is what the address holds. With `allTime` there may be none.
 */
export function PeriodPicker({
  value,
  period,
  today,
  allTime = false,
  onChange,
}: {
  value: string;
  period: Period | undefined;
  today: string;
  allTime?: boolean;
  onChange: (value: string) => void;
}) {
  const named = value === '' || isPreset(value);
  const shown = period ?? { from: addDays(today, -29), to: today };
  const change = (to: Partial<Period>) => {
    const next = { ...shown, ...to };
    // the other end follows, so that no choice is refused
    if (next.from > next.to) Object.assign(next, to.from ? { to: next.from } : { from: next.to });
    onChange(rangeOf(next));
  };
  return (
    <div className="flex flex-wrap items-end gap-2">
      <div className="w-44">
        <Select
          label={t.period}
          hideLabel
          value={named ? (allTime ? value : value || PRESETS[0]) : 'custom'}
          onChange={(event) => onChange(event.target.value === 'custom' ? rangeOf(shown) : event.target.value)}
        >
          {allTime && <option value="">{t.allTime}</option>}
          {PRESETS.map((preset) => (
            <option key={preset} value={preset}>
              {t.presets[preset]}
            </option>
          ))}
          <option value="custom">{t.customPeriod}</option>
        </Select>
      </div>
      {!named && period && (
        <>
          <div className="w-36">
            <TextField
              label={t.from}
              hideLabel
              type="date"
              value={period.from}
              max={today}
              title={`${t.from}: ${dayText(`${period.from}T12:00:00`)}`}
              onChange={(event) => event.target.value && change({ from: event.target.value })}
            />
          </div>
          <span aria-hidden className="self-center text-muted">
            –
          </span>
          <div className="w-36">
            <TextField
              label={t.to}
              hideLabel
              type="date"
              value={period.to}
              max={today}
              title={`${t.to}: ${dayText(`${period.to}T12:00:00`)}`}
              onChange={(event) => event.target.value && change({ to: event.target.value })}
            />
          </div>
        </>
      )}
    </div>
  );
}
