import { useState } from 'react';
import { Checkbox, Select, textOf, TextField } from '#/ui/form';
import { changeProject } from '../change';
import type { Project } from '../queries';
import { SettingsForm } from './SettingsForm';
import { t } from './texts';

const DAY = 24;

/** A number of a form; null when the field is empty. */
function numberOf(data: FormData, name: string): number | null {
  const value = textOf(data, name);
  return value === undefined ? null : Number(value);
}

/** How fast the project sends, how much a contact gets, and where answers go. */
export function SendingSettings({ project, locked }: { project: Project; locked: boolean }) {
  const cap = project.marketingCap;
  const [capped, setCapped] = useState(Boolean(cap));
  const inDays = !cap || cap.hours % DAY === 0;
  const save = (data: FormData) => {
    const unit = data.get('unit') === 'days' ? DAY : 1;
    const emails = Number(data.get('marketingCap.emails'));
    const hours = Number(data.get('marketingCap.hours')) * unit;
    return changeProject(project.id, {
      sendingPerSecond: numberOf(data, 'sendingPerSecond'),
      marketingCap: data.has('capped') ? { emails, hours } : null,
      replyTracking: data.has('replyTracking'),
    });
  };
  return (
    <SettingsForm
      title={t.sending}
      lead={t.sendingText}
      locked={locked}
      onSave={save}
      onDiscard={() => setCapped(Boolean(cap))}
    >
      <div className="max-w-xs">
        <TextField
          name="sendingPerSecond"
          type="number"
          min={1}
          max={100_000}
          label={t.perSecond}
          hint={t.perSecondHint}
          placeholder={t.noLimit}
          defaultValue={project.sendingPerSecond ?? ''}
        />
      </div>
      <Checkbox
        name="capped"
        label={t.cap}
        hint={t.capHint}
        checked={capped}
        onChange={(event) => setCapped(event.target.checked)}
      />
      {capped && (
        <div className="ml-6 grid max-w-lg grid-cols-2 gap-3 sm:grid-cols-3">
          <TextField
            name="marketingCap.emails"
            type="number"
            min={1}
            max={1000}
            label={t.capMails}
            defaultValue={cap?.emails ?? 3}
            required
          />
          <TextField
            name="marketingCap.hours"
            type="number"
            min={1}
            max={8760}
            label={t.capPeriod}
            defaultValue={cap ? (inDays ? cap.hours / DAY : cap.hours) : 7}
            required
          />
          <Select name="unit" label={t.capUnit} defaultValue={inDays ? 'days' : 'hours'}>
            <option value="days">{t.days}</option>
            <option value="hours">{t.hours}</option>
          </Select>
        </div>
      )}
      <Checkbox
        name="replyTracking"
        label={t.replyTracking}
        hint={t.replyTrackingHint}
        defaultChecked={project.replyTracking}
      />
    </SettingsForm>
  );
}
