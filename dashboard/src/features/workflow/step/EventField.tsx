import { useQuery } from '@tanstack/react-query';
import { eventNames } from '#/features/event/queries';
import { Combobox } from '#/ui/combobox';


/** The name of an event: one that the project has recorded, or any other. */
export function EventField(props: {
  label: string;
  hint?: string;
  error?: string | undefined;
  name?: string;
  value: string;
  placeholder?: string;
  required?: boolean;
  autoFocus?: boolean;
  onChange: (value: string) => void;
}) {
  const { data } = useQuery(eventNames());
  const options = (data ?? []).map((name) => ({ value: name, label: name }));
  return <Combobox {...props} free options={options} />;
}
