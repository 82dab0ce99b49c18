import { classes } from './classes';

/** A card to choose: what it is called, and what that means. */
export interface ChoiceCard<Value> {
  value: Value;
  title: string;
  text: string;
  /** What it is called by those who do not see it. */
  label: string;
}

/** One of a few things, each with a sentence about it. `columns` are the classes of the grid that they stand in. */
export function ChoiceCards<Value extends string>({ legend, field, value, cards, columns, onChange }: {
  legend: string;
  /** The name of the field. */
  field: string;
  value: Value;
  cards: readonly ChoiceCard<Value>[];
  columns: string;
  onChange: (to: Value) => void;
}) {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{legend}</legend>
      <div className={classes('grid gap-2', columns)}>
        {cards.map((card) => (
          // oxlint-disable-next-line jsx-a11y/label-has-associated-control -- the box has a name of its own
          <label
            key={card.value}
            className={classes(
              'flex cursor-pointer items-start gap-2 rounded-card border bg-panel p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent',
              card.value === value ? 'border-accent bg-accent-soft' : 'border-line hover:bg-raised',
            )}
          >
            <input
              type="radio"
              name={field}
              value={card.value}
              aria-label={card.label}
              checked={card.value === value}
              onChange={() => onChange(card.value)}
              className="mt-0.5 accent-(--accent)"
            />
            <span className="min-w-0">
              <span className="block font-medium">{card.title}</span>
              <span className="block text-meta text-muted">{card.text}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
