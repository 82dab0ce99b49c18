import { useSyncExternalStore } from 'react';

/** Where a page is, as the browser's address has it. */
interface Place {
  pathname: string;
  search: string;
}

let place: Place | undefined;
const watchers = new Set<() => void>();

/**
 * Where the page is. That is the browser's address, but while a step of the browser's history is asked about and taken
 * back: then the address is another one, and the page still is what it was.
 */
export function here(): Place {
  place ??= { pathname: location.pathname, search: location.search };
  return place;
}

/** Takes the browser's address as where the page is. */
export function arrive(): void {
  place = { pathname: location.pathname, search: location.search };
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The path of the present page, as the browser has it. */
export const usePathname = (): string => useSyncExternalStore(watch, () => here().pathname);

/** What is behind the question mark of the present address, with it. */
export const useSearch = (): string => useSyncExternalStore(watch, () => here().search);
