import { useSyncExternalStore } from 'react';

/** Something said at the edge of the page. */
export interface Toast {
  id: number;
  text?: string;
  error?: unknown;
  undo?: () => void;
}

let toasts: readonly Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function change(to: readonly Toast[]): void {
  toasts = to;
  for (const watcher of watchers) watcher();
}

/** Takes a toast away. */
export function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

function show(toast: Omit<Toast, 'id'>): void {
  // the last three: more would cover the page
  change([...toasts.slice(-2), { ...toast, id: next++ }]);
}

/** Says that something is done. With `undo` it can be undone for a while. */
export function done(text: string, undo?: () => void): void {
  show(undo ? { text, undo } : { text });
}

/** Says that something failed. It stays until it is dismissed. */
export function failed(error: unknown): void {
  show({ error });
}

/** The toasts that are shown now. */
export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
}
