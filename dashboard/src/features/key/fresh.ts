import { useSyncExternalStore } from 'react';

/**
 * Secret keys that were made in this tab. The service shows a key once; this remembers it until the tab is closed, so that
 * the code to copy has the project's own key in it. It is in memory alone.
 */
const keys = new Map<string, string>();
const watchers = new Set<() => void>();

/** Remembers the secret key of a project. */
export function rememberSecret(project: string, key: string): void {
  keys.set(project, key);
  for (const watcher of watchers) watcher();
}

/** The secret key of a project, if it was made in this tab. */
export function useFreshSecret(project: string): string | undefined {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => keys.get(project),
  );
}
