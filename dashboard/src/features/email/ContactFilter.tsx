import { useQuery } from '@tanstack/react-query';
import { type ChangeEvent, type FormEvent, useEffect, useId, useState } from 'react';
import { queries } from '#/api/query';
import { failed } from '#/ui/toast';
import { contactsLike } from './queries';
import { t } from './texts';

/** How long somebody has not typed before it is searched, in milliseconds. */
const PAUSE_MS = 150;

/** Finds a contact by a part of its address. Choosing one, or Enter at the only one, calls back with its id. */
export function ContactFilter({ onChoose }: { onChoose: (id: string) => void }) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const [search, setSearch] = useState('');
  const [tried, setTried] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearch(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useQuery(contactsLike(search));
  const all = found.data?.data ?? [];
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wanted = typed.trim();
    if (!wanted) return;
    try {
      const { data } = await queries.fetchQuery(contactsLike(wanted));
      const one = data.find((contact) => contact.email === wanted.toLowerCase()) ?? (data.length === 1 ? data[0] : undefined);
      if (one) onChoose(one.id);
      else setTried(data.length === 0 ? wanted : '');
    } catch (error) {
      failed(error);
    }
  };
  const change = (event: ChangeEvent<HTMLInputElement>) => {
    setTyped(event.target.value);
    // what comes letter by letter may go on; what comes at once was taken from the list
    const { nativeEvent } = event;
    if (nativeEvent instanceof InputEvent && nativeEvent.inputType !== 'insertReplacementText') return;
    const one = all.find((contact) => contact.email === event.target.value);
    if (one) onChoose(one.id);
  };
  const missing = tried !== '' && tried === typed.trim();
  return (
    <form onSubmit={(event) => void submit(event)} role="search" className="relative w-56">
      <input
        type="text"
        inputMode="email"
        list={`${id}-list`}
        aria-label={t.findContact}
        aria-invalid={missing || undefined}
        aria-describedby={missing ? `${id}-error` : undefined}
        placeholder={t.contactPlaceholder}
        autoComplete="off"
        spellCheck={false}
        data-search
        value={typed}
        onChange={change}
        className="h-9 w-full rounded-control border border-control bg-panel px-2.5 text-input placeholder:text-muted aria-invalid:border-bad pointer-coarse:h-11"
      />
      <datalist id={`${id}-list`}>
        {all.map((contact) => (
          <option key={contact.id} value={contact.email}>
            {contact.email}
          </option>
        ))}
      </datalist>
      <span role="status">
        {missing && (
          <span id={`${id}-error`} className="text-meta font-medium text-bad">
            {t.noContact}
          </span>
        )}
      </span>
    </form>
  );
}
