import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Combobox } from '#/ui/combobox';
import { contacts } from '../queries';

/** Chooses a contact by address. */
export function ContactField({ label, name, value, onChange }: { label: string; name: string; value: string; onChange: (id: string) => void }) {
  const [search, setSearch] = useState('');
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map());
  const { data, isPending, isPlaceholderData } = useQuery(contacts(search));
  const options = (data?.data ?? []).map((contact) => ({ value: contact.id, label: contact.email }));
  return (
    <Combobox
      label={label}
      name={name}
      autoFocus
      required
      value={value}
      valueLabel={known.get(value)}
      options={options}
      placeholder="ada@example.org"
      onSearch={setSearch}
      isSearching={isPending || isPlaceholderData}
      onChange={(id) => {
        const email = options.find((option) => option.value === id)?.label;
        if (email) setKnown((before) => new Map([...before, [id, email]]));
        onChange(id);
      }}
    />
  );
}
