import { cloneElement, isValidElement, type HTMLAttributes, type ReactElement } from 'react';

/** Gives its attributes to its only child. What the child does on an event happens as well. */
export function Slot({ children, ...rest }: HTMLAttributes<HTMLElement> & { children: ReactElement }) {
  if (!isValidElement<Record<string, unknown>>(children)) return children;
  const own = children.props;
  const merged: Record<string, unknown> = { ...rest };
  for (const [name, value] of Object.entries(rest)) {
    const inner = own[name];
    if (typeof value === 'function' && typeof inner === 'function') {
      merged[name] = (...args: unknown[]) => {
        inner(...args);
        value(...args);
      };
    }
  }
  return cloneElement(children, merged);
}
