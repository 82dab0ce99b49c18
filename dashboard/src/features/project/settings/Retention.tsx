import { number, plural } from '#/i18n/format';
import type { Schemas } from '#/api/client';
import { textOf, TextField } from '#/ui/form';
import { changeProject } from '../change';
import { useIsAdmin, useProject } from '../open';
import { SettingsForm } from './SettingsForm';
import { t } from './texts';

type Periods = Schemas['RetentionView'];

/** What has a period, and the shortest one in days. */
const KINDS: readonly (readonly [kind: keyof Periods, least: number])[] = [
  ['events', 1],
  ['bodies', 7],
  ['capturedMail', 1],
  ['rawInbound', 1],
  ['hits', 1],
  ['requestLog', 1],
  ['auditLog', 31],
  ['executions', 1],
  ['mails', 31],
];
const MOST_DAYS = 3650;

/** For how long things are kept: the project's own periods, within those of the instance. */
export function Retention() {
  const project = useProject();
  const locked = !useIsAdmin() || project.disabled;
  const save = (data: FormData) => {
    const own = KINDS.flatMap(([kind]) => {
      const days = textOf(data, `retention.${kind}`);
      return days === undefined ? [] : [[kind, Number(days)] as const];
    });
    return changeProject(project.id, { retention: own.length > 0 ? Object.fromEntries(own) : null });
  };
  const inForce = (days: number | null | undefined) =>
    days === null || days === undefined
      ? t.forEver
      : t.inForce(plural(days, { one: t.oneDay, other: t.manyDays(number(days)) }));
  return (
    <SettingsForm title={t.retention} lead={t.retentionText} locked={locked} onSave={save}>
      <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
        {KINDS.map(([kind, least]) => (
          <TextField
            key={kind}
            name={`retention.${kind}`}
            type="number"
            min={least}
            max={MOST_DAYS}
            label={t.kinds[kind]}
            hint={inForce(project.retentionInForce[kind])}
            placeholder={t.likeInstance}
            defaultValue={project.retention?.[kind] ?? ''}
          />
        ))}
      </div>
    </SettingsForm>
  );
}
