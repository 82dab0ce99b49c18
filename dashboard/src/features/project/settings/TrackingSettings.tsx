import { Select, textOf, TextField } from '#/ui/form';
import type { Schemas } from '#/api/client';
import { changeProject } from '../change';
import type { Project } from '../queries';
import { SettingsForm } from './SettingsForm';
import { t } from './texts';

/** Which opens and clicks are counted, and what is added to links. */
export function TrackingSettings({ project, locked }: { project: Project; locked: boolean }) {
  const save = (data: FormData) => {
    const source = textOf(data, 'utm.source');
    const medium = textOf(data, 'utm.medium');
    const campaign = textOf(data, 'utm.campaign');
    return changeProject(project.id, {
      tracking: String(data.get('tracking')) as Schemas['Tracking'],
      // without a source, what else is given would be lost without a word: the service says that it is missing
      utm: source || medium || campaign ? { source: source ?? '', medium: medium ?? null, campaign: campaign ?? null } : null,
    });
  };
  return (
    <SettingsForm title={t.tracking} lead={t.trackingText} locked={locked} onSave={save}>
      <div className="max-w-sm">
        <Select name="tracking" label={t.trackingWhich} hint={t.trackingHint} defaultValue={project.tracking}>
          <option value="ENABLED">{t.trackingAll}</option>
          <option value="MARKETING_ONLY">{t.trackingMarketing}</option>
          <option value="DISABLED">{t.trackingNone}</option>
        </Select>
      </div>
      <fieldset className="space-y-2">
        <legend className="font-medium">{t.utm}</legend>
        <p className="text-meta text-muted">{t.utmHint}</p>
        <div className="grid gap-3 sm:grid-cols-3">
          <TextField
            name="utm.source"
            label="utm_source"
            placeholder="newsletter"
            maxLength={100}
            defaultValue={project.utm?.source ?? ''}
          />
          <TextField
            name="utm.medium"
            label="utm_medium"
            placeholder="email"
            maxLength={100}
            defaultValue={project.utm?.medium ?? ''}
          />
          <TextField
            name="utm.campaign"
            label="utm_campaign"
            placeholder={t.utmCampaign}
            maxLength={100}
            defaultValue={project.utm?.campaign ?? ''}
          />
        </div>
      </fieldset>
    </SettingsForm>
  );
}
