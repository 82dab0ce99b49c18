import { Braces } from 'lucide';
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { placeholder } from '../liquid.ts';
import { IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Field } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { matching, useVariables, type Variable } from './queries';
import { t } from './texts';

/** The open `{{` before the cursor, and what was written after it. */
function openAt(value: string, cursor: number): { from: number; query: string } | undefined {
  const found = /\{\{\s*([^{}]*)$/.exec(value.slice(0, cursor));
  return found ? { from: found.index, query: found[1] ?? '' } : undefined;
}

/** One line of text that may hold variables: `{{` opens the list of them. */
export function VariableInput({
  label,
  hint,
  error,
  name,
  value,
  onChange,
  maxLength,
  placeholder: example,
  hideLabel = false,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  name?: string;
  value: string;
  onChange: (value: string) => void;
  maxLength?: number;
  placeholder?: string;
  hideLabel?: boolean;
}) {
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const variables = useVariables();
  const [open, setOpen] = useState<{ from: number; query: string }>();
  const [index, setIndex] = useState(0);
  const found = open ? matching(variables, open.query).slice(0, 8) : [];
  const shown = found.length > 0;

  const look = () => {
    const field = input.current;
    if (!field) return;
    setOpen(openAt(field.value, field.selectionStart ?? field.value.length));
    setIndex(0);
  };
  const insert = (variable: Variable, from: number) => {
    const field = input.current;
    if (!field) return;
    const cursor = field.selectionEnd ?? field.value.length;
    const rest = field.value.slice(cursor).replace(open ? /^\s*\}\}/ : /^(?!)/, '');
    const written = placeholder(variable.name);
    onChange(field.value.slice(0, from) + written + rest);
    setOpen(undefined);
    requestAnimationFrame(() => {
      field.focus();
      field.setSelectionRange(from + written.length, from + written.length);
    });
  };
  const onKey = (event: KeyboardEvent) => {
    if (!open || !shown) return;
    const chosen = found[index];
    if (event.key === 'ArrowDown') setIndex((index + 1) % found.length);
    else if (event.key === 'ArrowUp') setIndex((index + found.length - 1) % found.length);
    else if ((event.key === 'Enter' || event.key === 'Tab') && chosen) insert(chosen, open.from);
    else if (event.key === 'Escape') setOpen(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel} name={name}>
      {(control) => (
        <div className="relative">
          <input
            ref={input}
            type="text"
            {...control}
            role="combobox"
            aria-expanded={shown}
            aria-controls={shown ? list : undefined}
            aria-autocomplete="list"
            aria-activedescendant={shown ? `${list}-${index}` : undefined}
            name={name}
            value={value}
            maxLength={maxLength}
            placeholder={example}
            autoComplete="off"
            onChange={(event) => {
              onChange(event.target.value);
              look();
            }}
            onKeyDown={onKey}
            onClick={look}
            onBlur={() => setOpen(undefined)}
            className={classes(
              'h-9 w-full rounded-control border border-control bg-panel pr-10 pl-2.5 text-input text-ink placeholder:text-muted',
              'aria-invalid:border-bad pointer-coarse:h-11',
            )}
          />
          <div className="absolute top-1 right-1 pointer-coarse:top-0">
            <Menu
              movesFocus
              trigger={
                <IconButton label={`${t.insert}: ${label}`} size="small">
                  <Icon of={Braces} size={14} />
                </IconButton>
              }
              entries={[
                { heading: t.variables },
                ...variables.map((variable) => ({
                  text: variable.name,
                  onSelect: () => insert(variable, input.current?.selectionStart ?? value.length),
                })),
              ]}
            />
          </div>
          {shown && (
            <div
              id={list}
              role="listbox"
              aria-label={t.variables}
              className="absolute top-full left-0 z-30 mt-1 max-h-64 w-full max-w-sm overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
            >
              {found.map((variable, at) => (
                // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field has the keys
                <div
                  key={variable.name}
                  id={`${list}-${at}`}
                  role="option"
                  aria-selected={at === index}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => open && insert(variable, open.from)}
                  className={classes(
                    'flex min-h-8 cursor-default items-center justify-between gap-3 rounded-control px-2',
                    at === index && 'bg-raised',
                  )}
                >
                  <span className="truncate font-mono text-meta">{variable.name}</span>
                  <span className="truncate text-meta text-muted">{variable.hint}</span>
                </div>
              ))}
            </div>
          )}
        </div>
      )}
    </Field>
  );
}
