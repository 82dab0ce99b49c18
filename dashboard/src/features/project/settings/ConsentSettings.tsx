import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';
import { Checkbox, Select, textOf } from '#/ui/form';
import { changeProject } from '../change';
import type { Project } from '../queries';
import { SettingsForm } from './SettingsForm';
import { t } from './texts';

/** The templates that a mail to confirm can be made of. */
const confirmationTemplates = () => ({
  queryKey: projectKey('templates', 'for-confirmation'),
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call(api.GET('/templates', { params: { query: { type: 'TRANSACTIONAL', pageSize: 100 } }, signal })),
});

/** How people come onto the list, and what is kept as evidence. */
export function ConsentSettings({ project, locked }: { project: Project; locked: boolean }) {
  const chosen = project.confirmationTemplateId ?? '';
  const [doubleOptIn, setDoubleOptIn] = useState(project.doubleOptIn);
  const { data } = useQuery(confirmationTemplates());
  const templates = data?.data ?? [];
  const isListed = chosen === '' || templates.some((one) => one.id === chosen);
  const save = (form: FormData) =>
    changeProject(project.id, {
      doubleOptIn: form.has('doubleOptIn'),
      confirmationTemplateId: textOf(form, 'confirmationTemplateId') ?? null,
      consentKeepsAddress: form.has('consentKeepsAddress'),
      publicKeyMayResubscribe: form.has('publicKeyMayResubscribe'),
    });
  return (
    <SettingsForm
      title={t.consent}
      lead={t.consentText}
      locked={locked}
      onSave={save}
      onDiscard={() => setDoubleOptIn(project.doubleOptIn)}
    >
      <Checkbox
        name="doubleOptIn"
        label={t.doubleOptIn}
        hint={t.doubleOptInHint}
        checked={doubleOptIn}
        onChange={(event) => setDoubleOptIn(event.target.checked)}
      />
      <div className={doubleOptIn ? 'ml-6 max-w-sm' : 'hidden'}>
        <Select
          // it is another field once the templates are there: its value could not be shown before
          key={data ? 'loaded' : 'loading'}
          name="confirmationTemplateId"
          label={t.confirmationTemplate}
          hint={t.confirmationTemplateHint}
          defaultValue={chosen}
        >
          <option value="">{t.ownWords}</option>
          {!isListed && <option value={chosen}>{chosen}</option>}
          {templates.map((template) => (
            <option key={template.id} value={template.id}>
              {template.name}
            </option>
          ))}
        </Select>
      </div>
      <Checkbox
        name="publicKeyMayResubscribe"
        label={t.resubscribe}
        hint={t.resubscribeHint}
        defaultChecked={project.publicKeyMayResubscribe}
      />
      <Checkbox
        name="consentKeepsAddress"
        label={t.keepsAddress}
        hint={t.keepsAddressHint}
        defaultChecked={project.consentKeepsAddress}
      />
    </SettingsForm>
  );
}
