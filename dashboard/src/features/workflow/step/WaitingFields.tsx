import { Checkbox, Select, TextField } from '#/ui/form';
import { asConfig, numberAt, textAt } from '../model/graph';
import type { Edit } from './edit';
import { EventField } from './EventField';
import { inUnits, UNITS, unitOf, WEEKDAYS } from './kinds';
import { LengthFields } from './LengthFields';
import { PathField } from './PathField';
import { t } from './texts';

/** Waits for a length of time. */
export function DelayFields({ config, set, fault }: Edit) {
  return (
    <LengthFields
      name="config.amount"
      autoFocus
      amount={numberAt(config, 'amount')}
      unit={unitOf(textAt(config, 'unit'))}
      error={fault('amount')}
      onChange={(amount, unit) => set({ amount, unit })}
    />
  );
}

/** How long the limit is that a wait gets first, in seconds: three days. */
const FIRST_LIMIT = 3 * UNITS.days;

/** Waits for an event of the contact. */
export function WaitForEventFields({ config, set, fault }: Edit) {
  const seconds = numberAt(config, 'timeout') ?? 0;
  const { amount, unit } = inUnits(seconds);
  return (
    <>
      <EventField
        label={t.eventName}
        hint={t.eventHint}
        name="config.eventName"
        placeholder={t.eventPlaceholder}
        autoFocus
        value={textAt(config, 'eventName')}
        error={fault('eventName')}
        onChange={(eventName) => set({ eventName })}
      />
      <Checkbox
        label={t.withLimit}
        hint={seconds > 0 ? undefined : t.noLimit}
        checked={seconds > 0}
        onChange={(event) => set({ timeout: event.target.checked ? FIRST_LIMIT : undefined })}
      />
      {seconds > 0 && (
        <LengthFields
          name="config.timeout"
          label={t.limit}
          amount={amount}
          unit={unit}
          error={fault('timeout')}
          onChange={(next, by) => set({ timeout: (next ?? 0) * UNITS[by] })}
        />
      )}
    </>
  );
}

const MODES = { date: t.untilDate, field: t.untilField, window: t.untilWindow } as const;

/** Waits for a date or a time of day. */
export function WaitUntilFields(edit: Edit) {
  const { config, set } = edit;
  const mode = textAt(config, 'mode');
  return (
    <>
      <Select label={t.until} name="config.mode" autoFocus value={mode} onChange={(event) => set({ mode: event.target.value })}>
        {Object.entries(MODES).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </Select>
      {mode === 'date' && (
        <TextField
          label={t.date}
          hint={t.dateHint}
          name="config.date"
          // a date with an offset is typed as text, which the browser's field cannot show
          type={/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$|^$/.test(textAt(config, 'date')) ? 'datetime-local' : 'text'}
          value={textAt(config, 'date')}
          error={edit.fault('date')}
          onChange={(event) => set({ date: event.target.value })}
        />
      )}
      {mode === 'field' && <DateOfField {...edit} />}
      {mode === 'window' && <Window {...edit} />}
    </>
  );
}

function DateOfField({ config, set, fault, eventName }: Edit) {
  const offset = asConfig(config.offset);
  const amount = numberAt(offset, 'amount') ?? 0;
  const unit = textAt(offset, 'unit') || 'days';
  const change = (to: number, by: string) => set({ offset: to === 0 ? undefined : { amount: to, unit: by } });
  return (
    <>
      <PathField value={textAt(config, 'field')} eventName={eventName} error={fault('field')} onChange={(field) => set({ field })} />
      <LengthFields
        name="config.offset.amount"
        label={t.offset}
        amount={Math.abs(amount)}
        unit={unitOf(unit)}
        error={fault('offset.amount')}
        onChange={(next, by) => change((next ?? 0) * (amount < 0 ? -1 : 1), by)}
      />
      <Select label={t.direction} value={amount < 0 ? 'before' : 'after'} disabled={amount === 0} onChange={() => change(-amount, unit)}>
        <option value="before">{t.offsetBefore}</option>
        <option value="after">{t.offsetAfter}</option>
      </Select>
    </>
  );
}

function Window({ config, set, fault }: Edit) {
  const days: readonly unknown[] = Array.isArray(config.days) ? config.days : WEEKDAYS;
  return (
    <>
      <div className="grid grid-cols-2 gap-2">
        {(['from', 'to'] as const).map((name) => (
          <TextField
            key={name}
            label={t[name]}
            name={`config.${name}`}
            type="time"
            value={textAt(config, name)}
            error={fault(name)}
            onChange={(event) => set({ [name]: event.target.value })}
          />
        ))}
      </div>
      <Weekdays days={days} error={fault('days')} onChange={(next) => set({ days: next })} />
      <p className="text-meta text-muted">{t.windowHint}</p>
    </>
  );
}

/** Days of the week to tick. */
export function Weekdays({ days, error, onChange }: { days: readonly unknown[]; error?: string | undefined; onChange: (days: string[]) => void }) {
  return (
    <fieldset>
      <legend className="font-medium">{t.days}</legend>
      <div className="mt-1 flex flex-wrap gap-x-3 gap-y-1">
        {WEEKDAYS.map((day) => (
          <Checkbox
            key={day}
            label={t.weekdays[day]}
            checked={days.includes(day)}
            onChange={(event) => onChange(WEEKDAYS.filter((one) => (one === day ? event.target.checked : days.includes(one))))}
          />
        ))}
      </div>
      {error && <p className="text-meta font-medium text-bad">{error}</p>}
    </fieldset>
  );
}
