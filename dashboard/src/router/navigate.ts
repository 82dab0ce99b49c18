import { href, type Search } from './address';
import { arrive } from './location';

interface Guard {
  question: string;
}

const guards = new Set<Guard>();
const watchers = new Set<() => void>();
/** Where the page is in the browser's history of this tab. Each entry knows its place, so that a step can be taken back. */
let position = 0;
/** How long to wait for another step of the browser's buttons, before the way back to the page that stays. */
const PAUSE_MS = 30;
/** Set from a step that is taken back until the page that stays is reached again. */
let returning: ReturnType<typeof setTimeout> | undefined;

/** Asks before what is not saved is left. Returns whether to go on. */
export function mayLeave(): boolean {
  for (const guard of guards) {
    // the browser's own question: it is the only one that can be asked while the page is going away
    if (!confirm(guard.question)) return false;
  }
  return true;
}

/** How a page is opened. */
interface Way {
  search?: Search;
  /** The way back leads to where the present one led. */
  replace?: boolean;
  /** The page stays, with what is not saved on it: only a part of it changes. */
  stays?: boolean;
}

/** Opens a page of the dashboard. */
export function go(path: string, { search, replace = false, stays = false }: Way = {}): void {
  if (!stays && !mayLeave()) return;
  write(href(path, search), replace);
}

/** Changes the address of the present page without leaving it, as filters do. */
export function rewrite(address: string): void {
  write(address, true);
}

function write(address: string, replace: boolean): void {
  if (returning) {
    // the browser is at another entry for a moment, which must not get this address
    setTimeout(() => write(address, replace), PAUSE_MS);
    return;
  }
  if (replace) history.replaceState({ position }, '', address);
  else history.pushState({ position: ++position }, '', address);
  arrive();
}

function positionIn(state: unknown): number | undefined {
  const found: unknown = typeof state === 'object' && state !== null ? Reflect.get(state, 'position') : undefined;
  return typeof found === 'number' ? found : undefined;
}

/** Steps from where the browser's history is to where the page is. */
function comeBack(): void {
  const steps = position - (positionIn(history.state) ?? position);
  // no step at all would load the page anew
  if (steps === 0) returning = undefined;
  else history.go(steps);
}

const onStep = ({ state }: PopStateEvent) => {
  const to = positionIn(state);
  if (to === undefined) {
    // somebody wrote a fragment behind the address: the page is the same, at a new place
    history.replaceState({ position: ++position }, '');
  } else if (to !== position && (returning || !mayLeave())) {
    clearTimeout(returning);
    returning = setTimeout(comeBack, PAUSE_MS);
    return;
  } else {
    position = to;
  }
  clearTimeout(returning);
  returning = undefined;
  arrive();
};

/** Begins to follow the browser's own buttons, and asks before they leave what is not saved. */
export function followHistory(): void {
  const known = positionIn(history.state);
  if (known === undefined) history.replaceState({ position }, '');
  else position = known;
  addEventListener('popstate', onStep);
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
