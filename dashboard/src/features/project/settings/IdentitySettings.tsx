import { useId } from 'react';
import { language } from '#/i18n/language';
import { Select, textOf, TextField } from '#/ui/form';
import { changeProject } from '../change';
import type { Project } from '../queries';
import { SettingsForm } from './SettingsForm';
import { t } from './texts';

/** The languages that public pages and footers are written in. */
const LANGUAGES = 'bg cs cy de en es fr hi it ja nl pl pt sv zh-CN zh-HK zh-TW'.split(' ');
const names = new Intl.DisplayNames(language, { type: 'language' });
const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

/** What the project is called, and the language and time zone that it works in. */
export function IdentitySettings({ project, locked }: { project: Project; locked: boolean }) {
  const list = useId();
  const known = LANGUAGES.includes(project.language) ? LANGUAGES : [project.language, ...LANGUAGES];
  const save = (data: FormData) =>
    changeProject(project.id, {
      name: String(data.get('name')),
      language: String(data.get('language')),
      timezone: textOf(data, 'timezone') ?? null,
    });
  return (
    <SettingsForm title={t.identity} lead={t.identityText} locked={locked} onSave={save}>
      <TextField name="name" label={t.name} defaultValue={project.name} maxLength={100} required />
      <div className="grid gap-4 sm:grid-cols-2">
        <Select name="language" label={t.language} hint={t.languageHint} defaultValue={project.language}>
          {known.map((code) => (
            <option key={code} value={code}>
              {names.of(code) ?? code}
            </option>
          ))}
        </Select>
        <TextField
          name="timezone"
          label={t.timezone}
          hint={t.timezoneHint}
          defaultValue={project.timezone}
          list={list}
          autoComplete="off"
          spellCheck={false}
        />
        <datalist id={list}>
          {zones.map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </datalist>
      </div>
    </SettingsForm>
  );
}
