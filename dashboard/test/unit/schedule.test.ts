import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localInput, shortcuts } from '../../src/features/campaign/schedule.ts';

test('shortcuts lie in the future, Monday is a Monday, and fields take them', () => {
  for (let day = 1; day <= 14; day += 1) {
    const now = new Date(2026, 1, 20 + day, 23, 59);
    for (const { name, at } of shortcuts(now)) {
      assert.ok(at > now, `${name} of ${now}`);
      assert.match(localInput(at), /^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
      if (name === 'monday') assert.equal(at.getDay(), 1, `${now}`);
    }
  }
});
