import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Choice, isSameChoice, readChoice, writeChoice } from '../../src/features/campaign/audience-choice.ts';
import type { FilterTree } from '../../src/features/segment/builder/tree.ts';

const PRO = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] } as FilterTree;
const choice = (fields: Partial<Choice>): Choice => ({ base: 'ALL', segmentId: '', condition: undefined, without: [], ...fields });

test('every choice is read as it was written', () => {
  for (const without of [[], ['s1'], ['s1', 's2']]) {
    for (const one of [
      choice({ without }),
      choice({ base: 'SEGMENT', segmentId: 's9', without }),
      choice({ base: 'FILTERED', condition: PRO, without }),
    ]) {
      const written = writeChoice(one);
      assert.ok(written);
      const stored = { audienceType: 'ALL' as const, ...written } as Parameters<typeof readChoice>[0];
      assert.deepEqual(readChoice(stored), one);
      assert.ok(isSameChoice(readChoice(stored), one));
    }
  }
});

test('what is not complete is not written', () => {
  assert.equal(writeChoice(choice({ base: 'SEGMENT' })), undefined);
  assert.equal(writeChoice(choice({ base: 'FILTERED', without: ['s1'] })), undefined);
});

test('a condition of another shape stays a condition', () => {
  const not = { field: 'segment.s1', operator: 'notMemberOfSegment' };
  const trees = [
    { logic: 'OR', groups: [{ filters: [not] }] },
    { logic: 'AND', groups: [{ filters: [not] }, { filters: [not] }] },
    { logic: 'AND', groups: [{ filters: [not, { field: 'subscribed', operator: 'equals', value: true }] }] },
    { logic: 'AND', groups: [{ filters: [{ field: 'segment.s1', operator: 'memberOfSegment' }] }] },
  ] as FilterTree[];
  for (const tree of trees) {
    const read = readChoice({ audienceType: 'FILTERED', audienceCondition: tree } as Parameters<typeof readChoice>[0]);
    assert.deepEqual(read, choice({ base: 'FILTERED', condition: tree }));
  }
});
