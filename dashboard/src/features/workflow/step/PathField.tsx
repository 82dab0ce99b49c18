import { useQuery } from '@tanstack/react-query';
import { Combobox } from '#/ui/combobox';
import { fields } from '../queries';
import { t } from './texts';

/** A field of the contact or of the event that conditions and waits look at. */
export function PathField({ value, onChange, error, eventName, autoFocus = false }: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
  eventName: string;
  autoFocus?: boolean;
}) {
  const { data } = useQuery(fields(eventName));
  const options = (data?.typedFields ?? []).map((field) => ({ value: field.field, label: field.field, hint: field.type }));
  return (
    <Combobox
      label={t.field}
      name="config.field"
      hint={t.fieldHint}
      free
      required
      autoFocus={autoFocus}
      value={value}
      options={options}
      error={error}
      placeholder="data.plan"
      onChange={onChange}
    />
  );
}
