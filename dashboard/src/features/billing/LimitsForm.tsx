import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { useProject } from '#/features/project/open';
import { SettingsForm } from '#/features/project/settings/SettingsForm';
import { number } from '#/i18n/format';
import { textOf, TextField } from '#/ui/form';
import { CATEGORIES, limits as limitsOf, type Limits } from './queries';
import { t } from './texts';

const MOST = 1_000_000_000;

/** The most mails of each kind in a month, so that a mistake does not become an invoice. */
export function LimitsForm({ limits, locked }: { limits: Limits; locked: boolean }) {
  const project = useProject();
  const save = async (data: FormData) => {
    const limit = (kind: string) => {
      const given = textOf(data, kind);
      return given === undefined ? null : Number(given);
    };
    const body = {
      transactional: limit('transactional'),
      campaigns: limit('campaigns'),
      workflows: limit('workflows'),
      inbound: limit('inbound'),
    };
    const params = { path: { id: project.id } };
    const changed = await call(api.PUT('/users/@me/projects/{id}/billing-limits', { params, body }));
    queries.setQueryData(limitsOf(project.id).queryKey, changed);
  };
  return (
    <SettingsForm title={t.limits} lead={t.limitsText} locked={locked} onSave={save}>
      <div className="grid gap-4 sm:grid-cols-2">
        {CATEGORIES.map((kind) => (
          <TextField
            key={kind}
            name={kind}
            type="number"
            min={1}
            max={MOST}
            label={t.categories[kind]}
            hint={t.usedUnlimited(number(limits[kind].usage))}
            placeholder={t.noLimit}
            defaultValue={limits[kind].limit ?? ''}
          />
        ))}
      </div>
    </SettingsForm>
  );
}
