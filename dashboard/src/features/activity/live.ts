import { useEffect, useRef, useState } from 'react';
import { follow } from '#/api/live';
import type { Entry, FeedQuery } from './queries';

/**
 * Calls back with each entry that the feed gets from now on, as long as `on` is true. `onStart` is called each time that
 * it begins, for what happened just before. Returns whether it follows now; undefined before the first try.
 */
export function useLive(
  query: Omit<FeedQuery, 'startDate' | 'endDate'>,
  on: { entry: (entry: Entry) => void; start?: () => void },
  enabled = true,
): boolean | undefined {
  const [connected, setConnected] = useState<boolean>();
  const callbacks = useRef(on);
  useEffect(() => {
    callbacks.current = on;
  });
  const path = `/activity/stream?${new URLSearchParams({ ...query }).toString()}`;
  useEffect(() => {
    if (!enabled) return;
    const control = new AbortController();
    void follow(
      path,
      {
        event: (event) => callbacks.current.entry(JSON.parse(event.data) as Entry),
        state: (to) => {
          setConnected(to);
          if (to) callbacks.current.start?.();
        },
      },
      control.signal,
    );
    return () => control.abort();
  }, [path, enabled]);
  return enabled ? connected : undefined;
}
