import { expression } from './liquid.ts';

/** Whether a branch should have a condition and has none: what is in it is shown to everybody who comes to it. */
export function isUnset(kind: unknown, test: unknown): boolean {
  return kind !== 'else' && expression(String(test ?? '')) === '';
}
