import { type RefObject, useEffect } from 'react';
import { shortcutsAreOn } from './shortcuts';

/**
 * Goes into the list of a page by J, K or the arrow down while nothing has the focus. A page with several lists, or with
 * none, keeps these keys.
 */
export function useListEntry(main: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const isLetter = event.key === 'j' || event.key === 'k';
      if (isLetter ? !shortcutsAreOn() : event.key !== 'ArrowDown') return;
      const focused = document.activeElement;
      if (focused && focused !== document.body && focused !== main.current) return;
      const lists = main.current?.querySelectorAll('[role=grid]') ?? [];
      const row = lists.length === 1 ? lists[0]?.querySelector<HTMLElement>('[role=row][tabindex="0"]') : undefined;
      if (!row) return;
      event.preventDefault();
      row.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [main]);
}
