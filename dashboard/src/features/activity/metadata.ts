/** A text in what an entry tells; undefined where it is none. */
export function textIn(metadata: object, name: string): string | undefined {
  const value: unknown = Reflect.get(metadata, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number in what an entry tells. */
export function numberIn(metadata: object, name: string): number | undefined {
  const value: unknown = Reflect.get(metadata, name);
  return typeof value === 'number' ? value : undefined;
}

/** What an event was recorded with, as one line; empty where that is nothing. */
export function dataIn(metadata: object): string {
  const value: unknown = Reflect.get(metadata, 'eventData');
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return '';
  return JSON.stringify(value);
}
