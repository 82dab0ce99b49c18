import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const SRC = new URL('../../src/', import.meta.url);

/** Two reads under one key share what is kept: whoever reads second gets what the first one stored. */
test('no two queries are kept under one key', () => {
  const files = readdirSync(SRC, { recursive: true }).map(String).filter((name) => /\.tsx?$/.test(name));
  const places = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(new URL(file, SRC), 'utf8');
    for (const found of text.matchAll(/queryKey: (projectKey\([^\n]*?\)|\[[^\n]*?\]),?\n\s*(?:enabled[^\n]*\n\s*)?queryFn:/g)) {
      const key = found[1] ?? '';
      places.set(key, [...(places.get(key) ?? []), file]);
    }
  }
  assert.ok(places.size > 50, 'queries were not found');
  assert.deepEqual([...places].filter(([, of]) => of.length > 1), []);
});
