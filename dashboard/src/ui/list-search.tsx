import { Search } from 'lucide';
import { useEffect, useRef, useState } from 'react';
import { classes } from './classes';
import { Icon } from './icon';

/** How long somebody has to pause before what they type is searched for, in milliseconds. */
const PAUSE_MS = 150;

/** Searches a list while somebody types. The key `/` leads to it; Escape empties it. */
export function ListSearch({ label, value, onSearch, className }: {
  label: string;
  /** What is searched for, as the address has it. */
  value: string;
  onSearch: (text: string) => void;
  className?: string;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  // the address can change without the field, as when filters are cleared
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    clearTimeout(timer.current);
    setText(value);
  }, [value]);
  const change = (to: string, pause: number) => {
    setText(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = to;
      onSearch(to);
    }, pause);
  };
  return (
    <div className={classes('relative min-w-0', className)}>
      <Icon of={Search} size={14} className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-muted" />
      <input
        type="search"
        data-search
        aria-label={label}
        placeholder={label}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => change(event.target.value, PAUSE_MS)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && text !== '') change('', 0);
        }}
        className="h-8 w-full rounded-control border border-control bg-panel pr-2 pl-8 text-body text-ink placeholder:text-muted pointer-coarse:h-11"
      />
    </div>
  );
}
