import { navigate } from 'wouter/use-browser-location';
import { href, type Search } from './address';

interface Guard {
  question: string;
}

const guards = new Set<Guard>();
const watchers = new Set<() => void>();
/** Where the page is in the browser's history of this tab. Each entry knows its place, so that a step can be taken back. */
let position = 0;
/** Whether the next step of the history is our own, back to the page that stays. */
let isReturning = false;

/** Asks before what is not saved is left. Returns whether to go on. */
export function mayLeave(): boolean {
  for (const guard of guards) {
    // the browser's own question: it is the only one that can be asked while the page is going away
    if (!confirm(guard.question)) return false;
  }
  return true;
}

/** Opens a page of the dashboard. With `replace`, the way back leads to where the present one led. */
export function go(path: string, options: { search?: Search; replace?: boolean } = {}): void {
  if (!mayLeave()) return;
  const { replace = false } = options;
  if (!replace) position += 1;
  navigate(href(path, options.search), { replace, state: { position } });
}

/** Changes the address of the present page without leaving it, as filters do. */
export function rewrite(address: string): void {
  navigate(address, { replace: true, state: { position } });
}

function placeIn(state: unknown): number | undefined {
  const place: unknown = typeof state === 'object' && state !== null ? Reflect.get(state, 'position') : undefined;
  return typeof place === 'number' ? place : undefined;
}

const onStep = (event: PopStateEvent) => {
  const to = placeIn(event.state);
  if (isReturning) {
    isReturning = false;
    event.stopImmediatePropagation();
  } else if (to !== undefined && to !== position && !mayLeave()) {
    // the browser has changed the address already, and nothing else has heard of it
    event.stopImmediatePropagation();
    isReturning = true;
    history.go(position - to);
  } else {
    position = to ?? position;
  }
};

/** Begins to ask before the browser's own buttons leave what is not saved. It comes before all else that follows the address. */
export function followHistory(): void {
  const known = placeIn(history.state);
  if (known === undefined) history.replaceState({ position }, '');
  else position = known;
  addEventListener('popstate', onStep, { capture: true });
}

const onUnload = (event: BeforeUnloadEvent) => {
  if (guards.size > 0) event.preventDefault();
};

function changed(): void {
  if (guards.size > 0) addEventListener('beforeunload', onUnload);
  else removeEventListener('beforeunload', onUnload);
  for (const watcher of watchers) watcher();
}

/** Keeps the page while something on it is not saved. Returns what ends it. */
export function guardPage(question: string): () => void {
  const guard = { question };
  guards.add(guard);
  changed();
  return () => {
    guards.delete(guard);
    changed();
  };
}

/** Whether something on the page is not saved. */
export function isGuarded(): boolean {
  return guards.size > 0;
}

/** Calls back whenever something begins to be unsaved, or is saved or given up. */
export function watchGuards(callback: () => void): void {
  watchers.add(callback);
}

/** Gives up what is not saved: the page goes away without a question. */
export function dropGuards(): void {
  guards.clear();
  changed();
}
