import assert from 'node:assert/strict';
import { test } from 'node:test';
import { now, serviceTime } from '../../src/i18n/clock.ts';

test('a clock that is wrong by more than a minute is not believed', () => {
  const around = (expected: number) => assert.ok(Math.abs(now() - expected) < 5_000, `${now()} and not about ${expected}`);
  around(Date.now());
  serviceTime(new Date(Date.now() + 86_400_000).toUTCString());
  around(Date.now() + 86_400_000);
  serviceTime('no date');
  serviceTime(null);
  around(Date.now() + 86_400_000);
  serviceTime(new Date(Date.now() - 20_000).toUTCString());
  around(Date.now());
});
