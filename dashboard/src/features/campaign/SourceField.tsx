import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { template, templates } from '#/features/template/queries';
import { Combobox } from '#/ui/combobox';
import { useDebounced } from '#/ui/debounced';
import { campaign, campaigns } from './queries';
import { t } from './texts';

/** How long somebody has to pause before what they type is searched for, in milliseconds. */
const PAUSE_MS = 150;

/** The template or the campaign that another campaign begins with, found by its name. */
export function SourceField({ kind, value, onChange }: {
  kind: 'template' | 'campaign';
  value: string;
  onChange: (id: string) => void;
}) {
  const [typed, setTyped] = useState('');
  const search = useDebounced(typed.trim(), PAUSE_MS);
  const isTemplate = kind === 'template';
  const found = {
    template: useQuery({
      ...templates({ search, type: '', sort: 'changed', page: 1 }),
      enabled: isTemplate,
      placeholderData: keepPreviousData,
    }),
    campaign: useQuery({ ...campaigns(1, '', search), enabled: !isTemplate }),
  }[kind];
  // one that the address names is not always among those found
  const named = {
    template: useQuery({ ...template(value), enabled: isTemplate && value !== '' }).data?.name,
    campaign: useQuery({ ...campaign(value), enabled: !isTemplate && value !== '' }).data?.name,
  };
  return (
    <Combobox
      key={kind}
      label={t.starts[kind][0]}
      value={value}
      valueLabel={named[kind] ?? (value && '…')}
      options={(found.data?.data ?? []).map((one) => ({ value: one.id, label: one.name, hint: one.subject.slice(0, 40) }))}
      placeholder={t.searchSource[kind]}
      onSearch={setTyped}
      isSearching={typed.trim() !== search || found.isPending || found.isPlaceholderData}
      onChange={onChange}
      required
    />
  );
}
