import { useEffect } from 'react';

/** How long a chord waits for its second key, in milliseconds. */
const CHORD_MS = 1_200;
const OFF = 'mailwright.shortcuts';

/** Whether single-key shortcuts are on; WCAG 2.1.4 wants a way to switch them off. */
export function shortcutsAreOn(): boolean {
  return localStorage.getItem(OFF) !== 'off';
}

/** Switches single-key shortcuts on or off in this browser. */
export function setShortcuts(on: boolean): void {
  localStorage.setItem(OFF, on ? 'on' : 'off');
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role=textbox], [role=dialog]') !== null)
  );
}

/** Does what a key or a chord such as `g c` stands for, outside of fields. `mod+k` works everywhere. */
export function useShortcuts(actions: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    let begun = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const key = event.key.toLowerCase();
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        const action = actions[`mod+${key}`];
        if (!action) return;
        event.preventDefault();
        action();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !shortcutsAreOn()) return;
      const chord = begun ? `${begun} ${key}` : key;
      clearTimeout(timer);
      begun = '';
      const action = actions[chord];
      if (action) {
        event.preventDefault();
        action();
      } else if (Object.keys(actions).some((name) => name.startsWith(`${chord} `))) {
        begun = chord;
        timer = setTimeout(() => {
          begun = '';
        }, CHORD_MS);
      }
    };
    addEventListener('keydown', onKey);
    return () => {
      clearTimeout(timer);
      removeEventListener('keydown', onKey);
    };
  }, [actions]);
}
