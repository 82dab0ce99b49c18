import type { IconNode } from 'lucide';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { classes } from './classes';
import { CONTROL, Field } from './form';
import { Icon } from './icon';
import { t } from './texts';

/** Something to choose. */
export interface Option {
  value: string;
  label: string;
  /** Stands beside the label, such as a type. */
  hint?: string | undefined;
  icon?: IconNode | undefined;
}

interface ComboboxProps {
  label: string;
  hint?: React.ReactNode;
  error?: string | undefined;
  hideLabel?: boolean;
  /** As the API names the field, for what it says about it. */
  name?: string;
  value: string;
  /** What the value is called, where it is not among the options. */
  valueLabel?: string | undefined;
  options: readonly Option[];
  /** Any text is a value, not only the options. */
  free?: boolean;
  /** Finds the options for a text. Without it, they are filtered here. */
  onSearch?: (text: string) => void;
  /** The options are still those of another text: Enter chooses once they have come. */
  isSearching?: boolean;
  onChange: (value: string) => void;
  placeholder?: string | undefined;
  required?: boolean;
  autoFocus?: boolean;
}

/** The most options that are shown at once; more are found by typing. */
const MOST = 50;

function matching(options: readonly Option[], text: string): readonly Option[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return options;
  return options.filter((option) => `${option.label} ${option.hint ?? ''}`.toLowerCase().includes(wanted));
}

/** A field with a list to choose from, which typing narrows. Arrows move, Enter chooses, Escape closes. */
export function Combobox({
  label, hint, error, hideLabel = false, name, value, valueLabel, options, free = false, onSearch, isSearching = false, onChange, placeholder, required, autoFocus,
}: ComboboxProps) {
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState<string>();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [isEntered, setEntered] = useState(false);
  const chosen = options.find((option) => option.value === value)?.label ?? valueLabel ?? value;
  const text = typed ?? (free ? value : chosen);
  const filter = typed ?? (free ? value : '');
  const shown = (onSearch ? options : matching(options, filter)).slice(0, MOST);
  const isOpen = open && (shown.length > 0 || !free);

  const close = () => {
    setOpen(false);
    setActive(-1);
    setEntered(false);
    setTyped(undefined);
    onSearch?.('');
  };
  const choose = (option: Option) => {
    onChange(option.value);
    close();
  };
  useEffect(() => {
    const [first] = shown;
    if (!isEntered || isSearching) return;
    if (first) choose(first);
    else if (open) setEntered(false);
    else close();
    // oxlint-disable-next-line react/exhaustive-deps -- once the options have come
  }, [isEntered, isSearching]);
  const type = (next: string) => {
    setTyped(next);
    setEntered(false);
    setOpen(true);
    setActive(free ? -1 : 0);
    onSearch?.(next);
    if (free || next === '') onChange(next);
  };
  const move = (by: number) => {
    const next = isOpen ? Math.max(0, Math.min(shown.length - 1, active + by)) : Math.max(0, active);
    setOpen(true);
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    const option = shown[active];
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Enter' && isOpen && isSearching) setEntered(true);
    else if (event.key === 'Enter' && isOpen && option) choose(option);
    else if (event.key === 'Escape' && isOpen) {
      close();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };

  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel} name={name}>
      {(control) => (
        <div className="relative">
          <input
            type="text"
            role="combobox"
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={isOpen && active >= 0 ? `${listId}-${active}` : undefined}
            autoComplete="off"
            spellCheck={false}
            {...control}
            name={name}
            value={text}
            placeholder={placeholder}
            required={required}
            autoFocus={autoFocus}
            onChange={(event) => type(event.target.value)}
            onClick={() => setOpen(true)}
            onKeyDown={onKey}
            // what Enter asked for is chosen also if somebody goes on meanwhile
            onBlur={() => (isEntered ? setOpen(false) : close())}
            className={classes(CONTROL, 'h-9 pointer-coarse:h-11')}
          />
          <div
            ref={list}
            id={listId}
            role="listbox"
            aria-label={label}
            aria-busy={isSearching}
            hidden={!isOpen}
            className="absolute inset-x-0 top-full z-30 mt-1 max-h-64 overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
          >
            {shown.length === 0 && (
              <div role="option" aria-selected={false} aria-disabled className="px-2 py-1.5 text-muted">
                {t.noRows}
              </div>
            )}
            {isOpen && shown.map((option, index) => (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field has keys and focus
              <div
                key={option.value}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={option.value === value}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(option)}
                className={classes(
                  'flex min-h-8 cursor-default items-center gap-2 rounded-control px-2 hover:bg-raised pointer-coarse:min-h-11',
                  index === active && 'bg-raised',
                  option.value === value && 'font-medium text-accent',
                )}
              >
                {option.icon && <Icon of={option.icon} size={14} />}
                <span className="min-w-0 flex-1 truncate">{option.label}</span>
                {option.hint && <span className="shrink-0 text-meta text-muted">{option.hint}</span>}
              </div>
            ))}
          </div>
        </div>
      )}
    </Field>
  );
}
