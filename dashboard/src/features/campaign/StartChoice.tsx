import { ChoiceCards } from '#/ui/choice-cards';
import { t } from './texts';

/** What a campaign can begin with. */
export const STARTS = ['blank', 'newsletter', 'note', 'html', 'template', 'campaign'] as const;
export type Start = (typeof STARTS)[number];

/** What a campaign begins with. */
export function StartChoice({ value, onChange }: { value: Start; onChange: (to: Start) => void }) {
  const cards = STARTS.map((start) => {
    const [title, text] = t.starts[start];
    return { value: start, title, text, label: `${title}: ${text}` };
  });
  return <ChoiceCards legend={t.startFrom} field="start" value={value} cards={cards} columns="sm:grid-cols-2 lg:grid-cols-3" onChange={onChange} />;
}
