import { useQuery } from '@tanstack/react-query';
import { TemplateField } from '#/features/template/TemplateField';
import { Combobox } from '#/ui/combobox';
import { useSearchText } from '#/ui/debounced';
import { campaign, campaigns } from './queries';
import { t } from './texts';

interface SourceProps {
  value: string;
  onChange: (id: string) => void;
}

/** The template or the campaign that another campaign begins with, found by its name. */
export function SourceField({ kind, ...chosen }: SourceProps & { kind: 'template' | 'campaign' }) {
  if (kind === 'campaign') return <CampaignField {...chosen} />;
  return <TemplateField label={t.starts.template[0]} placeholder={t.searchSource.template} {...chosen} />;
}

function CampaignField({ value, onChange }: SourceProps) {
  const { search, isTyping, type } = useSearchText();
  const found = useQuery(campaigns(1, '', search));
  // one that the address names is not always among those found
  const named = useQuery({ ...campaign(value), enabled: value !== '' });
  return (
    <Combobox
      label={t.starts.campaign[0]}
      value={value}
      valueLabel={named.data?.name ?? (value && '…')}
      options={(found.data?.data ?? []).map((one) => ({ value: one.id, label: one.name, hint: one.subject.slice(0, 40) }))}
      placeholder={t.searchSource.campaign}
      onSearch={type}
      isSearching={isTyping || found.isPending || found.isPlaceholderData}
      onChange={onChange}
      required
    />
  );
}
