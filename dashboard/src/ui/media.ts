import { useSyncExternalStore } from 'react';

/** Whether the window is as a media query says, such as `(min-width: 64rem)`. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const list = matchMedia(query);
      list.addEventListener('change', watcher);
      return () => list.removeEventListener('change', watcher);
    },
    () => matchMedia(query).matches,
  );
}
