import { useSyncExternalStore } from 'react';

/** A theme, or that of the browser. */
export type Theme = 'light' | 'dark' | 'browser';

const KEPT = 'mailwright.theme';
const root = document.documentElement;
const watchers = new Set<() => void>();
const browser = matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme {
  const kept = localStorage.getItem(KEPT);
  return kept === 'light' || kept === 'dark' ? kept : 'browser';
}

function show(): void {
  const theme = chosen();
  root.dataset.theme = theme === 'browser' ? (browser.matches ? 'dark' : 'light') : theme;
  for (const watcher of watchers) watcher();
}

// the browser's may change while the page is open, such as in the evening
browser.addEventListener('change', show);

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The theme that was chosen, and a way to choose another one. The choice is kept in this browser. */
export function useTheme(): [theme: Theme, set: (theme: Theme) => void] {
  const theme = useSyncExternalStore(watch, chosen);
  const set = (to: Theme) => {
    if (to === 'browser') localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, to);
    show();
  };
  return [theme, set];
}

/** Whether the dark theme is shown. */
export function useIsDark(): boolean {
  return useSyncExternalStore(watch, () => root.dataset.theme === 'dark');
}
