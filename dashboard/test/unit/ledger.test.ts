import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audienceOf, terms } from '../../src/features/campaign/ledger.ts';

test('the ledger line adds up, without zeros, reasons by size', () => {
  const line = terms([
    { state: 'SKIPPED', reason: 'deleted', count: 1 },
    { state: 'SKIPPED', reason: 'unsubscribed', count: 20 },
    { state: 'ACCEPTED', reason: null, count: 5_012 },
    { state: 'FAILED', reason: 'bounced', count: 7 },
    { state: 'IN_DOUBT', reason: null, count: 0 },
  ]);
  assert.deepEqual(
    line.map((term) => [term.state, term.count]),
    [
      ['ACCEPTED', 5_012],
      ['SKIPPED', 21],
      ['FAILED', 7],
    ],
  );
  assert.deepEqual(line[1]?.reasons.map((part) => part.reason), ['unsubscribed', 'deleted']);
  assert.equal(audienceOf(line), 5_040);
});
