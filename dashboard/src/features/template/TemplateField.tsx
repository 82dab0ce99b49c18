import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Combobox } from '#/ui/combobox';
import { useDebounced } from '#/ui/debounced';
import { template, templates } from './queries';

/** How long somebody has to pause before what they type is searched for, in milliseconds. */
const PAUSE_MS = 150;

/** A template, found by its name. */
export function TemplateField({ label, placeholder, value, onChange }: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (id: string) => void;
}) {
  const [typed, setTyped] = useState('');
  const search = useDebounced(typed.trim(), PAUSE_MS);
  const found = useQuery({ ...templates({ search, type: '', sort: 'changed', page: 1 }), placeholderData: keepPreviousData });
  // one that the address names is not always among those found
  const named = useQuery({ ...template(value), enabled: value !== '' });
  return (
    <Combobox
      label={label}
      value={value}
      valueLabel={named.data?.name ?? (value && '…')}
      options={(found.data?.data ?? []).map((one) => ({ value: one.id, label: one.name, hint: one.subject.slice(0, 40) }))}
      placeholder={placeholder}
      onSearch={setTyped}
      isSearching={typed.trim() !== search || found.isPending || found.isPlaceholderData}
      onChange={onChange}
      required
    />
  );
}
