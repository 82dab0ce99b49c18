import type { Schemas } from '#/api/client';

/** Events as they are typed: one a line, empty lines left out. `wrong` is the number of the first line that is none. */
export function readEvents(text: string): { events: Schemas['SimulatedEvent'][]; wrong?: number } {
  const events: Schemas['SimulatedEvent'][] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const value: unknown = JSON.parse(line);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return { events, wrong: index + 1 };
      events.push(value as Schemas['SimulatedEvent']);
    } catch {
      return { events, wrong: index + 1 };
    }
  }
  return { events };
}

/** What a difference looks like: `+3`, `−2`, or nothing. */
export function signed(difference: number, format: (value: number) => string): string {
  if (difference === 0) return '';
  return difference > 0 ? `+${format(difference)}` : `−${format(-difference)}`;
}

/** All numbers of a record added up. */
export const sumOf = (record: Readonly<Record<string, number>>): number => Object.values(record).reduce((sum, n) => sum + n, 0);
