import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide';
import { segments } from '#/features/segment/queries';
import { number } from '#/i18n/format';
import { Combobox } from '#/ui/combobox';
import { Icon } from '#/ui/icon';
import type { Choice } from './audience-choice';
import { t } from './texts';

/** The segments whose members do not get the campaign, whatever else they are in. */
export function Without({ choice, onChange }: { choice: Choice; onChange: (ids: readonly string[]) => void }) {
  const { data: all } = useQuery(segments());
  const { without } = choice;
  if (!all || (all.length === 0 && without.length === 0)) return null;
  const options = all
    .filter((one) => one.id !== choice.segmentId && !without.includes(one.id))
    .map((one) => ({ value: one.id, label: one.name, hint: number(one.memberCount) }));
  const nameOf = (id: string) => all.find((one) => one.id === id)?.name ?? id;
  return (
    <div className="max-w-md space-y-2">
      <Combobox
        key={without.length}
        label={t.without}
        hint={t.withoutHint}
        value=""
        options={options}
        placeholder={t.withoutPlaceholder}
        onChange={(id) => id && onChange([...without, id])}
      />
      {without.length > 0 && (
        <ul aria-label={t.leftOutSegments} className="flex flex-wrap gap-1.5">
          {without.map((id) => (
            <li key={id} className="max-w-full">
              <button
                type="button"
                aria-label={t.notWithout(nameOf(id))}
                onClick={() => onChange(without.filter((other) => other !== id))}
                className="inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-line bg-raised px-2.5 text-meta font-medium hover:border-control pointer-coarse:h-11"
              >
                <span className="truncate">{nameOf(id)}</span>
                <Icon of={X} size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
