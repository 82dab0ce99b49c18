import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenOf, textOfTypes, toggleArea, typesIn } from '../../src/features/activity/areas.ts';
import { dataIn, numberIn, textIn } from '../../src/features/activity/metadata.ts';
import { cohortTable } from '../../src/features/analytics/cohort-table.ts';
import { timelineOf } from '../../src/features/email/timeline.ts';

// texts and formats are those of the page's language
Object.assign(globalThis, { document: { documentElement: { lang: 'de' } } });
const format = await import('../../src/i18n/format.ts');
const { changeOf, formatOf, totalOf, valueOn } = await import('../../src/features/analytics/measures.ts');

const day = (values: Partial<Record<string, number>>) => ({
  date: '2026-11-26T00:00:00.000Z',
  day: '2026-11-26',
  emails: 0,
  sent: 0,
  delivered: 0,
  opens: 0,
  clicks: 0,
  bounces: 0,
  complaints: 0,
  unsubscribes: 0,
  received: 0,
  events: 0,
  ...values,
});

test('rates are of the sums, not means of the days', () => {
  const days = [day({ sent: 100, opens: 50 }), day({ sent: 300, opens: 0 }), day({})];
  assert.deepEqual(totalOf(days, 'openRate'), { value: 0.125, count: 50 });
  assert.deepEqual(totalOf(days, 'sent'), { value: 400, count: 400 });
  assert.deepEqual(totalOf([day({})], 'openRate'), { value: null, count: 0 });
  assert.equal(valueOn(day({}), 'clickRate'), null);
  assert.equal(valueOn(day({ sent: 4, clicks: 1 }), 'clickRate'), 0.25);
  assert.equal(changeOf(3, 2), 0.5);
  assert.equal(changeOf(3, 0), undefined);
  assert.equal(changeOf(null, 2), undefined);
});

test('figures are written as the language has them', () => {
  assert.equal(formatOf('sent')(1234567), '1.234.567');
  assert.equal(formatOf('openRate')(0.125), '12,5\u00a0%');
  assert.equal(format.shortDay('2026-11-26'), '26. Nov.');
  assert.match(format.dayName('2026-11-26'), /^Do\.?, 26\. Nov\. 2026$/);
  assert.equal(format.monthName('2026-11'), 'Nov. 2026');
});

test('areas of the feed are chosen whole, and all are the same as none', () => {
  const mail = toggleArea('mail', new Set());
  assert.equal(chosenOf('mail', mail), 'all');
  assert.equal(textOfTypes(toggleArea('mail', mail)), '');
  assert.equal(chosenOf('contacts', typesIn('contact.created,no.such,<img>')), 'some');
  assert.equal(textOfTypes(typesIn('email.opened,contact.created,email.opened')), 'email.opened,contact.created');
  let all: ReturnType<typeof toggleArea> = new Set();
  for (const area of ['mail', 'contacts', 'events', 'campaigns', 'workflows', 'segments'] as const) all = toggleArea(area, all);
  assert.equal(textOfTypes(all), '');
});

test('what an entry tells is read whatever it is', () => {
  const metadata = { subject: 'Hi', opens: 3, empty: '', eventData: { plan: 'pro' } };
  assert.equal(textIn(metadata, 'subject'), 'Hi');
  assert.equal(textIn(metadata, 'opens'), undefined);
  assert.equal(textIn(metadata, 'empty'), undefined);
  assert.equal(numberIn(metadata, 'opens'), 3);
  assert.equal(dataIn(metadata), '{"plan":"pro"}');
  assert.equal(dataIn({ eventData: {} }), '');
  assert.equal(dataIn({}), '');
});

test('cohorts become a table, with zeros for months that the API leaves out', () => {
  const row = (cohort: string, month: string, openRate: number) => ({ cohort, month, contacts: 10, opened: openRate / 10, openRate });
  const table = cohortTable([row('2025-12', '2025-12', 50), row('2025-12', '2026-02', 20), row('2026-02', '2026-02', 10)]);
  assert.equal(table.months, 3);
  assert.deepEqual(
    table.rows.map((line) => [line.cohort, line.cells.map((cell) => cell.share)]),
    [
      ['2026-02', [0.1]],
      ['2025-12', [0.5, 0, 0.2]],
    ],
  );
});

test('what happened to a mail is in order, and the next attempt comes last', () => {
  const mail = {
    status: 'PENDING',
    createdAt: '2026-11-26T10:00:00.000Z',
    deliveredAt: null,
    openedAt: null,
    clickedAt: null,
    bouncedAt: null,
    complainedAt: null,
    nextAttemptAt: '2026-11-26T10:05:00.000Z',
    attempts: [{ attempt: 1, at: '2026-11-26T10:00:01.000Z', outcome: 'deferred', host: 'mx', tls: true }],
  };
  type Mail = Parameters<typeof timelineOf>[0];
  assert.deepEqual(timelineOf(mail as unknown as Mail).map((step) => step.kind), ['accepted', 'attempt', 'next']);
  const bounced = {
    ...mail,
    status: 'BOUNCED',
    nextAttemptAt: null,
    bouncedAt: '2026-11-26T10:00:01.000Z',
    attempts: [{ ...mail.attempts[0], outcome: 'bounced' }],
  };
  assert.deepEqual(timelineOf(bounced as unknown as Mail).map((step) => step.kind), ['accepted', 'attempt']);
});
