import { useSyncExternalStore } from 'react';

/**
 * Secret keys that were made in this tab. The service shows a key once; this remembers it until the tab is closed or the
 * session ends, so that the code to copy has the project's own key in it. It is in memory alone.
 */
const keys = new Map<string, string>();
const watchers = new Set<() => void>();

/** Remembers the secret key of a project. */
export function rememberSecret(project: string, key: string): void {
  keys.set(project, key);
  for (const watcher of watchers) watcher();
}

/** Forgets the secret key of a project if it ends so, as the list of keys says it: it was revoked. */
export function forgetSecret(project: string, hint: string): void {
  if (!keys.get(project)?.endsWith(hint)) return;
  keys.delete(project);
  for (const watcher of watchers) watcher();
}

/** Forgets every secret key: another person may come to this tab. */
export function forgetSecrets(): void {
  keys.clear();
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
