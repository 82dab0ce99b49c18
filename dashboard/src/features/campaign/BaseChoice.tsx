import { ChoiceCards } from '#/ui/choice-cards';
import type { Choice } from './audience-choice';
import { t } from './texts';

const BASES: readonly Choice['base'][] = ['ALL', 'SEGMENT', 'FILTERED'];

/** What an audience begins with: everybody, a segment, or a condition. */
export function BaseChoice({ value, onChange }: { value: Choice['base']; onChange: (to: Choice['base']) => void }) {
  const cards = BASES.map((base) => {
    const [title, text] = t.bases[base];
    return { value: base, title, text, label: title };
  });
  return <ChoiceCards legend={t.goesTo} field="base" value={value} cards={cards} columns="sm:grid-cols-3" onChange={onChange} />;
}
