import { type ComponentProps, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { classes } from './classes';
import { t } from './texts';

/** A suggestion of a `SuggestField`. */
export interface Suggestion {
  /** What choosing it gives. */
  value: string;
  text: string;
  /** A word at the right, such as a type. */
  note?: string | undefined;
  /** Suggestions of a group follow each other. */
  group?: string | undefined;
}

/** How many suggestions are shown at once. */
const MOST = 100;

interface SuggestFieldProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange' | 'ref'> {
  /** Its name for those who do not see it. */
  label: string;
  /** The text in the field. */
  value: string;
  suggestions: readonly Suggestion[];
  /** A suggestion was chosen. */
  onChoose: (suggestion: Suggestion) => void;
  /** Somebody types. Without it, only suggestions can be chosen, and what was typed is forgotten. */
  onType?: (text: string) => void;
  /** Further suggestions for what is typed, such as a new name. */
  more?: (text: string) => readonly Suggestion[];
  /** Stands where nothing is suggested. */
  nothing?: ReactNode;
  invalid?: boolean;
}

function matching(suggestions: readonly Suggestion[], text: string): Suggestion[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (one: Suggestion) => words.every((word) => `${one.text} ${one.value} ${one.group ?? ''}`.toLowerCase().includes(word));
  return suggestions.filter(fits).slice(0, MOST);
}

/** A field with suggestions. Keys: arrows move, Enter chooses, Escape closes. */
export function SuggestField({
  label, value, suggestions, onChoose, onType, more, nothing, invalid, className, onKeyDown, onBlur, onFocus, ...rest
}: SuggestFieldProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState<string>();
  const [active, setActive] = useState(0);
  const text = typed ?? value;
  const shown = typed === undefined ? suggestions.slice(0, MOST) : [...matching(suggestions, typed), ...(more?.(typed) ?? [])];
  const at = Math.min(active, shown.length - 1);
  useEffect(() => {
    if (open) list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [open, at]);

  const close = () => {
    setOpen(false);
    setTyped(undefined);
  };
  const begin = () => {
    // with free text, nothing is chosen until somebody moves to it
    const present = suggestions.findIndex((one) => one.text === value);
    setActive(onType ? -1 : Math.max(0, present));
    setOpen(true);
  };
  const choose = (suggestion: Suggestion) => {
    onChoose(suggestion);
    close();
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    const chosen = shown[at];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!open) begin();
      else setActive(event.key === 'ArrowDown' ? Math.min(shown.length - 1, at + 1) : Math.max(0, at - 1));
    } else if (event.key === 'Enter' && open && chosen) {
      event.preventDefault();
      choose(chosen);
    } else if (event.key === 'Escape' && open) {
      // the dialog around it stays
      event.preventDefault();
      event.stopPropagation();
      close();
    } else onKeyDown?.(event);
  };
  const hasList = open && (shown.length > 0 || nothing !== undefined);
  return (
    <div className={classes('relative min-w-0', className)}>
      <input
        type="text"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-label={label}
        aria-expanded={hasList}
        aria-controls={hasList ? `${id}-list` : undefined}
        aria-autocomplete="list"
        aria-activedescendant={hasList && at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={invalid || undefined}
        value={text}
        onChange={(event) => {
          setTyped(event.target.value);
          setActive(onType ? -1 : 0);
          setOpen(true);
          onType?.(event.target.value);
        }}
        onFocus={(event) => {
          event.target.select();
          begin();
          onFocus?.(event);
        }}
        onClick={() => !open && begin()}
        onBlur={(event) => {
          close();
          onBlur?.(event);
        }}
        onKeyDown={onKey}
        className="h-8 w-full rounded-control border border-control bg-panel px-2 text-body text-ink placeholder:text-muted aria-invalid:border-bad pointer-coarse:h-11"
        {...rest}
      />
      {hasList && (
        <div
          ref={list}
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          className="absolute top-full left-0 z-30 mt-1 max-h-72 w-max max-w-[min(24rem,85vw)] min-w-full overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
        >
          {shown.map((one, index) => (
            <Option
              key={`${one.group ?? ''} ${one.value}`}
              id={`${id}-${index}`}
              of={one}
              heading={one.group !== shown[index - 1]?.group ? one.group : undefined}
              active={index === at}
              onActive={() => setActive(index)}
              onChoose={() => choose(one)}
            />
          ))}
          {shown.length === 0 && (
            <div role="option" aria-selected={false} aria-disabled className="px-2 py-1 text-muted">
              {nothing ?? t.noRows}
            </div>
          )}
        </div>
      )}
    </div>
  );
}

function Option({ id, of, heading, active, onActive, onChoose }: {
  id: string;
  of: Suggestion;
  heading: string | undefined;
  active: boolean;
  onActive: () => void;
  onChoose: () => void;
}) {
  return (
    <>
      {heading && (
        <div role="presentation" className="px-2 pt-2 pb-0.5 text-meta font-medium text-muted first:pt-0.5">
          {heading}
        </div>
      )}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field has the keys and the focus */}
      <div
        id={id}
        role="option"
        aria-selected={active}
        onPointerMove={onActive}
        // the field keeps the focus
        onPointerDown={(event) => event.preventDefault()}
        onClick={onChoose}
        className={classes(
          'flex min-h-7 cursor-default items-center gap-3 rounded-control px-2 pointer-coarse:min-h-11',
          active && 'bg-raised',
        )}
      >
        <span className="min-w-0 flex-1 truncate">{of.text}</span>
        {of.note && <span className="text-meta text-muted">{of.note}</span>}
      </div>
    </>
  );
}
