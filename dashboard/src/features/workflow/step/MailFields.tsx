import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { TextLink } from '#/ui/button';
import { Combobox } from '#/ui/combobox';
import { Select, TextField } from '#/ui/form';
import { asConfig, textAt } from '../model/graph';
import { templates } from '../queries';
import type { Edit } from './edit';
import { t } from './texts';

/** Sends a mail. The template is kept in the configuration while it is edited. */
export function MailFields({ config, set, fault, templateName }: Edit & { templateName: string | undefined }) {
  const [search, setSearch] = useState('');
  const { data, isPending, isPlaceholderData } = useQuery(templates(search));
  const id = textAt(config, 'templateId');
  const recipient = asConfig(config.recipient);
  const isCustom = textAt(recipient, 'type') === 'CUSTOM';
  const options = (data?.data ?? []).map((one) => ({ value: one.id, label: one.name, hint: one.type.toLowerCase() }));
  return (
    <>
      <Combobox
        label={t.template}
        name="templateId"
        autoFocus
        value={id}
        valueLabel={id ? (templateName ?? t.templateGone) : ''}
        options={options}
        placeholder={t.chooseTemplate}
        error={fault('templateId')}
        hint={
          id ? (
            <TextLink to={`/templates/${id}`}>{t.openTemplate}</TextLink>
          ) : (
            <TextLink to="/templates/create">{t.newTemplate}</TextLink>
          )
        }
        onSearch={setSearch}
        isSearching={isPending || isPlaceholderData}
        onChange={(templateId) => set({ templateId })}
      />
      <Select
        label={t.recipient}
        name="config.recipient.type"
        value={isCustom ? 'CUSTOM' : 'CONTACT'}
        onChange={(event) => set({ recipient: event.target.value === 'CUSTOM' ? { type: 'CUSTOM', customEmail: '' } : undefined })}
      >
        <option value="CONTACT">{t.toContact}</option>
        <option value="CUSTOM">{t.toCustom}</option>
      </Select>
      {isCustom ? (
        <TextField
          label={t.customEmail}
          hint={t.customHint}
          name="config.recipient.customEmail"
          type="email"
          value={textAt(recipient, 'customEmail')}
          error={fault('recipient.customEmail')}
          onChange={(event) => set({ recipient: { type: 'CUSTOM', customEmail: event.target.value } })}
        />
      ) : (
        <Select
          label={t.overCap}
          name="config.overCap"
          value={textAt(config, 'overCap') || 'SKIP'}
          onChange={(event) => set({ overCap: event.target.value === 'SKIP' ? undefined : event.target.value })}
        >
          <option value="SKIP">{t.overCapSkip}</option>
          <option value="WAIT">{t.overCapWait}</option>
        </Select>
      )}
    </>
  );
}
