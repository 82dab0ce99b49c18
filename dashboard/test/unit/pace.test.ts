import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paceOf, type Sample, withSample } from '../../src/features/campaign/pace.ts';

const gather = (...samples: Sample[]) => samples.reduce<readonly Sample[]>(withSample, []);

test('the pace is that of the last twenty seconds', () => {
  assert.equal(paceOf(gather({ at: 0, count: 0 }, { at: 2_000, count: 40 })), undefined);
  assert.equal(paceOf(gather({ at: 0, count: 0 }, { at: 4_000, count: 80 })), 20);
  assert.equal(paceOf(gather({ at: 0, count: 0 }, { at: 30_000, count: 3_000 }, { at: 40_000, count: 3_100 })), 10);
});

test('without progress, and after a retry, there is nothing to tell', () => {
  assert.equal(paceOf(gather({ at: 0, count: 5 }, { at: 9_000, count: 5 })), undefined);
  assert.equal(paceOf(gather({ at: 0, count: 50 }, { at: 4_000, count: 20 })), undefined);
});
