import { QueryCache, QueryClient } from '@tanstack/react-query';
import { currentProject } from './client';
import { ApiError } from './error';
import { isLost, onDoubt, onReach } from './reach';

/** How often a read that failed in passing is tried while its page is open, in milliseconds. */
const RECOVER_MS = 15_000;
/** The longest pause that an answer can ask for, in milliseconds. */
const LONGEST_PAUSE_MS = 60_000;

const isPassing = (error: unknown): boolean => error instanceof ApiError && error.isPassing;
const pause = (count: number, error: unknown): number =>
  Math.min(LONGEST_PAUSE_MS, Math.max(1000 * 2 ** count, error instanceof ApiError ? error.pauseMs : 0));

/** What answers of the API are kept in. A request that fails in passing is tried twice more. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: leaveWithoutSession }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 2 && isPassing(error),
      retryDelay: pause,
      refetchOnWindowFocus: true,
      // what cannot be read is there again by itself when it can
      refetchInterval: ({ state: { status, error } }) =>
        status === 'error' && isPassing(error) ? Math.max(RECOVER_MS, pause(0, error)) : false,
    },
  },
});

// whether it was done is seen by what is there now; what is being read goes on, so that nothing begins again and again
onDoubt(() => void queries.invalidateQueries(undefined, { cancelRefetch: false }));
onReach(() => {
  if (!isLost()) void queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
});

/** The key of what belongs to the project that is open: `projectKey('contacts', id)`. */
export function projectKey(...rest: readonly unknown[]): readonly unknown[] {
  return ['project', currentProject(), ...rest];
}

/** Whether an error means that nobody is signed in any more. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401 && ['UNAUTHORIZED', 'MISSING_AUTH'].includes(error.code);
}

const lost = new Set<() => void>();

/** Calls back when a request finds that the session has ended. */
export function onSessionLost(callback: () => void): void {
  lost.add(callback);
}

function leaveWithoutSession(error: unknown): void {
  if (isSignedOut(error)) for (const callback of lost) callback();
}
