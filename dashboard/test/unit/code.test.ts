import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { codeFor, LANGUAGES } from '../../src/features/onboarding/code.ts';

const example = {
  api: 'https://mail.example.com',
  path: '/v1/send',
  key: 'sk_1',
  body: { subject: `It's "here": \\ {{name}}`, data: { name: 'Zoë' } },
};

test('every language has the address, the key and the body', () => {
  for (const { id } of LANGUAGES) {
    const code = codeFor(id, example);
    assert.match(code, /https:\/\/mail\.example\.com\/v1\/send/, id);
    assert.match(code, /sk_1/, id);
  }
});

test('a shell and Python read the body as it is', () => {
  const printed = execFileSync('sh', ['-c', codeFor('curl', example).replace(/^curl [\s\S]*-d /, "printf '%s' ")]);
  assert.deepEqual(JSON.parse(printed.toString()), example.body);
  const python = codeFor('python', example);
  const lines = python.slice(python.indexOf('body ='), python.indexOf('request ='));
  const read = execFileSync('python3', ['-c', `import json\n${lines}\nprint(json.dumps(body))`]);
  assert.deepEqual(JSON.parse(read.toString()), example.body);
});

test('JavaScript is JavaScript', () => {
  // it is parsed, not run
  const source = codeFor('javascript', example);
  assert.doesNotThrow(() => new Function(`return async () => {${source}}`));
});
