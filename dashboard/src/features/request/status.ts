import type { Tone } from '#/ui/status';

/** How a status of an answer looks. */
export function toneOf(status: number): Tone {
  if (status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}
