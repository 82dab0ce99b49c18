import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const SRC = new URL('../../src/', import.meta.url);

/** What stands between a bracket and the one that closes it. */
function bracketed(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return text.slice(open, at + 1);
  }
  return assert.fail('a bracket is not closed');
}

/**
 * A POST counts as a write, and when its answer is lost everything is read again. One that only asks must say so: it can be
 * given up by a signal, or its path is that of a question.
 */
test('what only asks by POST says so', () => {
  const files = readdirSync(SRC, { recursive: true }).map(String).filter((name) => /\.tsx?$/.test(name));
  const asking: string[] = [];
  for (const file of files) {
    const text = readFileSync(new URL(file, SRC), 'utf8');
    for (const found of text.matchAll(/\b(?:api\.POST|rawRequest)\(/g)) {
      const request = bracketed(text, found.index + found[0].length - 1);
      const isPost = found[0].startsWith('api') || request.includes("method: 'POST'");
      if (!isPost || !(/\bsignal\b/.test(request) || /^\('[^']*\/(?:check|preview|search)'/.test(request))) continue;
      asking.push(request);
      assert.match(request, /\basked\b/, `${file}: ${request}`);
    }
  }
  assert.ok(asking.length >= 9, `only ${asking.length} were found`);
});
