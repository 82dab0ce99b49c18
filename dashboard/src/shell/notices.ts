import { useSyncExternalStore } from 'react';

/** What is said above every page, because the page stays for what is not saved on it. */
export interface Notices {
  /** The session has ended. */
  signedOut: boolean;
  /** The service was upgraded, and a part of the dashboard that this page wants is gone. */
  upgraded: boolean;
}

let notices: Notices = { signedOut: false, upgraded: false };
const watchers = new Set<() => void>();

/** What is said now. */
export function present(): Notices {
  return notices;
}

/** Says something, or no longer. */
export function notice(change: Partial<Notices>): void {
  notices = { ...notices, ...change };
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** What is said now, for a component. */
export function useNotices(): Notices {
  return useSyncExternalStore(watch, present);
}
