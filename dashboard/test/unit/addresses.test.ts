import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressesIn } from '#/features/segment/addresses';
import { slugOf } from '#/features/segment/slug';

test('addresses are found in what people paste', () => {
  assert.deepEqual(addressesIn('ada@example.org, Bob <bob@example.org>;\n\n  ADA@example.org nobody'), ['ADA@example.org', 'bob@example.org']);
  assert.deepEqual(addressesIn('  '), []);
});

test('a name becomes what its events are called', () => {
  const cases = [['VIP Users!', 'vip-users'], ['  Größe  50 ', 'gre-50'], ['a -- b', 'a-b'], ['snake_case', 'snake_case'], ['ÄÖ', '']];
  for (const [name, slug] of cases) assert.equal(slugOf(name ?? ''), slug);
});
