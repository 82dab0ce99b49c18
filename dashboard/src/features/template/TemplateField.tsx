import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Combobox } from '#/ui/combobox';
import { useSearchText } from '#/ui/debounced';
import { template, templates } from './queries';

/** A template, found by its name. */
export function TemplateField({ label, placeholder, value, onChange }: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (id: string) => void;
}) {
  const { search, isTyping, type } = useSearchText();
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
      onSearch={type}
      isSearching={isTyping || found.isPending || found.isPlaceholderData}
      onChange={onChange}
      required
    />
  );
}
