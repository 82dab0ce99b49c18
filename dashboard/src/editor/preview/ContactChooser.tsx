import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide';
import { type KeyboardEvent, useId, useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { useSettled } from '../check';
import { t } from './texts';

type Contact = Pick<Schemas['ContactView'], 'id' | 'email'>;

/** Whom a preview is shown to: any contact of the project, found by its address. */
export function ContactChooser({ contact, onChange }: { contact: Contact | undefined; onChange: (contact: Contact | undefined) => void }) {
  const list = useId();
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [index, setIndex] = useState(0);
  const search = useSettled(text.trim());
  const { data: found = [] } = useQuery({
    queryKey: projectKey('contacts', 'chooser', search),
    queryFn: async ({ signal }) => (await call(api.GET('/contacts', { params: { query: { search, limit: 8 } }, signal }))).data,
    enabled: open,
    placeholderData: (before) => before,
  });
  const choose = (to: Contact) => {
    onChange(to);
    setText('');
    setOpen(false);
  };
  const onKey = (event: KeyboardEvent) => {
    const chosen = found[index];
    if (event.key === 'ArrowDown' && found.length > 0) {
      setOpen(true);
      setIndex((index + 1) % found.length);
    } else if (event.key === 'ArrowUp' && found.length > 0) setIndex((index + found.length - 1) % found.length);
    else if (event.key === 'Enter' && open && chosen) choose(chosen);
    else if (event.key === 'Escape' && open) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="relative flex min-w-0 flex-1 items-center gap-1">
      <input
        type="text"
        role="combobox"
        aria-label={t.as}
        aria-expanded={open}
        aria-controls={open ? list : undefined}
        aria-autocomplete="list"
        aria-activedescendant={open && found.length > 0 ? `${list}-${index}` : undefined}
        value={open ? text : (contact?.email ?? text)}
        placeholder={open ? t.asPlaceholder : t.nobody}
        autoComplete="off"
        spellCheck={false}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setText(event.target.value);
          setIndex(0);
          setOpen(true);
        }}
        onKeyDown={onKey}
        className="h-8 w-full min-w-0 rounded-control border border-control bg-panel px-2 text-body placeholder:text-muted pointer-coarse:h-11"
      />
      {contact && (
        <IconButton label={t.clear} size="small" onClick={() => onChange(undefined)}>
          <Icon of={X} size={14} />
        </IconButton>
      )}
      {open && (
        <div
          id={list}
          role="listbox"
          aria-label={t.contacts}
          className="absolute top-full right-0 left-0 z-30 mt-1 max-h-64 min-w-56 overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
        >
          {found.length === 0 && (
            <div role="option" aria-selected={false} aria-disabled className="px-2 py-1 text-muted">
              {t.noContact}
            </div>
          )}
          {found.map((one, at) => (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field has the keys
            <div
              key={one.id}
              id={`${list}-${at}`}
              role="option"
              aria-selected={at === index}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(one)}
              className={classes('flex min-h-8 cursor-default items-center rounded-control px-2', at === index && 'bg-raised')}
            >
              <span className="truncate">{one.email}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
