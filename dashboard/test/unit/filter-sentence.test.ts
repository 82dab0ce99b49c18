import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilterTree } from '#/features/segment/builder/tree';

const TREE = {
  logic: 'AND',
  groups: [
    {
      filters: [
        { field: 'data.plan', operator: 'equals', value: 'pro' },
        { field: 'createdAt', operator: 'greaterThan', value: '2025-01-31T23:59:59.999Z' },
        { field: 'segment.1', operator: 'notMemberOfSegment' },
      ],
      conditions: {
        logic: 'OR',
        groups: [
          { filters: [{ field: 'event.login', operator: 'notTriggeredWithin', value: 30, unit: 'days' }] },
          { filters: [{ field: 'email.opened', operator: 'triggered' }] },
          { filters: [{ field: 'subscribed', operator: 'equals', value: true }] },
        ],
      },
    },
  ],
} as FilterTree;

test('a condition is a sentence, in the language of the page', async () => {
  // the language is that of the page, which there is none of here
  Object.assign(globalThis, { document: { documentElement: { lang: 'en' } } });
  const { sentence } = await import('#/features/segment/builder/sentence');
  const { newGroup, read } = await import('#/features/segment/builder/tree');
  const names = { segment: () => 'Testers', type: () => 'text' as const };
  assert.equal(
    sentence(read(TREE), names),
    'Contacts where plan is “pro” and Created after 31 Jan 2025 and not member of segment “Testers” and ' +
      '(Event login not in the last 30 days or Mail opened at least once or Subscription is subscribed).',
  );
  assert.equal(sentence(newGroup(), names), 'Contacts where not filled in yet.');
  assert.equal(sentence({ ...newGroup(), children: [] }, names), 'Add a condition to choose contacts.');
});
