import { useQuery } from '@tanstack/react-query';
import { segments } from '#/features/segment/queries';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { useProject } from '#/features/project/open';
import { now } from '#/i18n/clock';
import { Combobox } from '#/ui/combobox';
import { Checkbox, Form, Select, SubmitButton, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { asConfig, type Config, textAt } from './model/graph';
import { refresh, type Workflow } from './queries';
import { tidy } from './step/edit';
import { EventField } from './step/EventField';
import { FilterField } from './step/FilterField';
import { Weekdays } from './step/WaitingFields';
import { t } from './texts';

type TriggerType = Workflow['triggerType'];
const REPEATS = ['once', 'daily', 'weekly', 'monthly', 'rule'] as const;
const TYPES = ['EVENT', 'SCHEDULE', 'MANUAL'] as const;

/** What the schedule of a workflow begins with: nine o'clock tomorrow. */
function tomorrow(): string {
  const day = new Date(now() + 86_400_000);
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}T09:00`;
}

/** What starts executions. */
export function TriggerForm({ workflow, narrow = false, onDirty, onSaved }: {
  workflow: Workflow;
  /** Whether it stands in a panel. */
  narrow?: boolean;
  onDirty: (dirty: boolean) => void;
  onSaved?: () => void;
}) {
  const [type, setType] = useState<TriggerType>(workflow.triggerType);
  const [config, setConfig] = useState(() => asConfig(workflow.triggerConfig));
  const [invalid, setInvalid] = useState(false);
  const [tried, setTried] = useState(false);
  const set = (change: Config) => {
    setConfig((before) => tidy({ ...before, ...change }));
    onDirty(true);
  };
  const choose = (to: TriggerType) => {
    setType(to);
    setConfig(to === workflow.triggerType ? asConfig(workflow.triggerConfig) : to === 'SCHEDULE' ? { start: tomorrow() } : {});
    onDirty(true);
  };
  const save = () => {
    setTried(true);
    if (type === 'EVENT' && invalid) return;
    const body = { triggerType: type, ...(type === 'MANUAL' ? {} : { triggerConfig: config as Record<string, never> }) };
    return call(api.PATCH('/workflows/{id}', { params: { path: { id: workflow.id } }, body })).then(async () => {
      // what is read again is what was saved
      onDirty(false);
      await refresh();
      done(t.saved);
      onSaved?.();
    });
  };
  return (
    <Form onSubmit={save} noValidate>
      <Select label={t.startedBy} name="triggerType" hint={t.triggerHints[type]} value={type} onChange={(event) => choose(event.target.value as TriggerType)}>
        {TYPES.map((one) => (
          <option key={one} value={one}>
            {t.triggers[one]}
          </option>
        ))}
      </Select>
      {type === 'EVENT' && (
        <EventFields config={config} set={set} fault={tried && invalid ? t.filterFault : undefined} onInvalid={setInvalid} />
      )}
      {type === 'SCHEDULE' && <ScheduleFields config={config} set={set} />}
      <SubmitButton variant={narrow ? 'primary' : 'default'} className={narrow ? 'w-full' : ''}>
        {t.save}
      </SubmitButton>
    </Form>
  );
}

function EventFields({ config, set, fault, onInvalid }: {
  config: Config;
  set: (change: Config) => void;
  fault: string | undefined;
  onInvalid: (invalid: boolean) => void;
}) {
  const [filters, setFilters] = useState(config.filter !== undefined && config.filter !== null);
  return (
    <>
      <EventField
        label={t.event}
        hint={t.eventHint}
        name="triggerConfig.eventName"
        placeholder="signed_up"
        value={textAt(config, 'eventName')}
        onChange={(eventName) => set({ eventName })}
      />
      <Checkbox
        label={t.onlyIf}
        checked={filters}
        onChange={(event) => {
          setFilters(event.target.checked);
          // a filter has conditions; one without is not filled in yet
          onInvalid(event.target.checked);
          set({ filter: undefined });
        }}
      />
      {filters && (
        <FilterField
          label={t.filter}
          hint={t.filterHint}
          name="triggerConfig.filter"
          value={config.filter}
          error={fault}
          eventName={textAt(config, 'eventName')}
          onChange={(filter, isInvalid) => {
            onInvalid(isInvalid);
            set({ filter });
          }}
        />
      )}
    </>
  );
}

function ScheduleFields({ config, set }: { config: Config; set: (change: Config) => void }) {
  const project = useProject();
  const { data } = useQuery(segments());
  const repeat = textAt(config, 'repeat') || 'once';
  const options = (data ?? []).map((segment) => ({ value: segment.id, label: segment.name }));
  const zones = Intl.supportedValuesOf('timeZone').map((zone) => ({ value: zone, label: zone }));
  return (
    <>
      <Combobox
        label={t.segment}
        name="triggerConfig.segmentId"
        hint={t.segmentHint}
        value={textAt(config, 'segmentId')}
        options={options}
        onChange={(segmentId) => set({ segmentId })}
      />
      <TextField
        label={t.start}
        name="triggerConfig.start"
        type="datetime-local"
        value={textAt(config, 'start').slice(0, 16)}
        onChange={(event) => set({ start: event.target.value })}
      />
      <Combobox
        label={t.zone}
        name="triggerConfig.timeZone"
        free
        value={textAt(config, 'timeZone')}
        options={zones}
        placeholder={project.timezone}
        onChange={(timeZone) => set({ timeZone: timeZone || undefined })}
      />
      <Select
        label={t.repeat}
        name="triggerConfig.repeat"
        value={repeat}
        onChange={(event) => set({ repeat: event.target.value, rule: undefined, days: undefined })}
      >
        {REPEATS.map((one) => (
          <option key={one} value={one}>
            {t.repeats[one]}
          </option>
        ))}
      </Select>
      {repeat === 'weekly' && (
        <Weekdays days={Array.isArray(config.days) ? config.days : []} onChange={(days) => set({ days: days.length > 0 ? days : undefined })} />
      )}
      {repeat === 'rule' && (
        <TextField
          label={t.rule}
          hint={t.ruleHint}
          name="triggerConfig.rule"
          placeholder="FREQ=YEARLY;BYMONTH=12;BYDAY=-1FR"
          spellCheck={false}
          value={textAt(config, 'rule')}
          onChange={(event) => set({ rule: event.target.value })}
        />
      )}
    </>
  );
}
