import type { ReactNode } from 'react';
import { classes } from '#/ui/classes';
import { Checkbox } from '#/ui/form';
import { AREA_NAMES, AREAS, chosenOf, textOfTypes, toggleArea, typesIn } from './areas';
import { t } from './texts';

/** Chooses types of entries: whole areas by one press, single ones below. `value` is what the address holds. */
export function TypeFilter({
  value,
  onChange,
  beside,
}: {
  value: string;
  onChange: (value: string) => void;
  /** Further filters, at the end of the line. */
  beside: ReactNode;
}) {
  const types = typesIn(value);
  const chip = (on: boolean) =>
    classes(
      'inline-flex h-7 items-center rounded-full border px-2.5 text-meta font-medium pointer-coarse:h-11',
      on ? 'border-accent bg-accent-soft text-accent' : 'border-line bg-panel text-muted hover:text-ink',
    );
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
      <div role="group" aria-label={t.show} className="flex flex-wrap gap-1.5">
        <button type="button" aria-pressed={types.size === 0} className={chip(types.size === 0)} onClick={() => onChange('')}>
          {t.allAreas}
        </button>
        {AREA_NAMES.map((area) => {
          const chosen = chosenOf(area, types);
          return (
            <button
              key={area}
              type="button"
              aria-pressed={chosen === 'some' ? 'mixed' : chosen === 'all'}
              className={chip(chosen !== 'none')}
              onClick={() => onChange(textOfTypes(toggleArea(area, types)))}
            >
              {t.areas[area]}
              {chosen === 'some' && ` (${AREAS[area].filter((type) => types.has(type)).length})`}
            </button>
          );
        })}
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-2">{beside}</div>
      </div>
      <details>
        <summary className="w-fit text-meta text-muted hover:text-ink">{t.chooseTypes}</summary>
        <div className="mt-2 grid gap-4 rounded-card border border-line bg-panel p-3 sm:grid-cols-3 lg:grid-cols-6">
          {AREA_NAMES.map((area) => (
            <fieldset key={area} className="space-y-1">
              <legend className="pb-1 text-meta font-medium text-muted">{t.areas[area]}</legend>
              {AREAS[area].map((type) => (
                <Checkbox
                  key={type}
                  label={t.types[type]}
                  checked={types.has(type)}
                  onChange={(event) => {
                    const next = new Set(types);
                    if (event.target.checked) next.add(type);
                    else next.delete(type);
                    onChange(textOfTypes(next));
                  }}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </details>
    </div>
  );
}
