import { useQuery } from '@tanstack/react-query';
import { Select, textOf } from '#/ui/form';
import { topics } from './queries';

/**
 * Chooses the topic of a mail. It is not there while the topics are not known or there are none: `topicIn` leaves the
 * topic alone then.
 */
export function TopicField({ label, hint, none, stored }: { label: string; hint: string; none: string; stored: string | null | undefined }) {
  const { data: all } = useQuery(topics());
  if (!all || (all.length === 0 && !stored)) return null;
  // it may have been made after the topics were read; as one list, its option stays chosen when its name comes
  const isUnknown = stored && !all.some((one) => one.id === stored);
  const options = isUnknown ? [{ id: stored, name: stored }, ...all] : all;
  return (
    <Select name="topicId" label={label} hint={hint} defaultValue={stored ?? ''}>
      <option value="">{none}</option>
      {options.map((one) => (
        <option key={one.id} value={one.id}>
          {one.name}
        </option>
      ))}
    </Select>
  );
}

/** The topic that was chosen in a form, as a request has it; nothing where there was none to choose. */
export function topicIn(data: FormData): { topicId?: string | null } {
  return data.has('topicId') ? { topicId: textOf(data, 'topicId') ?? null } : {};
}
