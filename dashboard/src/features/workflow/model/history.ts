import { type Aliases, difference, type Operation, renamed } from './difference';
import type { Graph } from './graph';

/** A change that was made: the graph before and after it. */
export interface Change {
  readonly before: Graph;
  readonly after: Graph;
}

/** What can be undone, and what can be done again; the newest is the last. */
export interface History {
  readonly past: readonly Change[];
  readonly future: readonly Change[];
}

/** Nothing has been done yet. */
export const NO_HISTORY: History = { past: [], future: [] };

/** How many changes can be undone. */
const MOST = 100;

/** A change was made. What was undone before cannot be done again. */
export function noted(history: History, change: Change): History {
  if (difference(change.before, change.after).length === 0) return history;
  return { past: [...history.past.slice(1 - MOST), change], future: [] };
}

/** What undoes the last change, or does the last undone one again. */
export function stepBack(history: History, again: boolean): readonly Operation[] | undefined {
  const change = (again ? history.future : history.past).at(-1);
  if (!change) return undefined;
  return again ? difference(change.before, change.after) : difference(change.after, change.before);
}

/** The history after a step back or forth, in which `aliases` got new ids. */
export function steppedBack(history: History, again: boolean, aliases: Aliases): History {
  const rename = (change: Change): Change => ({
    before: renamed(change.before, aliases),
    after: renamed(change.after, aliases),
  });
  const past = history.past.map(rename);
  const future = history.future.map(rename);
  const change = (again ? future : past).pop();
  if (change) (again ? past : future).push(change);
  return { past, future };
}
