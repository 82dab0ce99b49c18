import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays, dayIn, daysIn, daysOf, instants, periodBefore, periodOf, range, startOfDay } from '../../src/ui/period.ts';

test('periods with a name end today, and months are whole', () => {
  const today = '2026-03-05';
  assert.deepEqual(periodOf('today', today), { from: today, to: today });
  assert.deepEqual(periodOf('7d', today), { from: '2026-02-27', to: today });
  assert.equal(daysIn(periodOf('30d', today) ?? { from: '', to: '' }), 30);
  assert.deepEqual(periodOf('month', today), { from: '2026-03-01', to: today });
  assert.deepEqual(periodOf('last-month', today), { from: '2026-02-01', to: '2026-02-28' });
  assert.deepEqual(periodOf('last-month', '2026-01-31'), { from: '2025-12-01', to: '2025-12-31' });
});

test('an address holds any days, and what is none is no period', () => {
  assert.deepEqual(periodOf('2026-01-31_2026-02-02', '2026-03-05'), { from: '2026-01-31', to: '2026-02-02' });
  assert.equal(range.read('2026-01-31_2026-02-02'), '2026-01-31_2026-02-02');
  assert.equal(range.read('7d'), '7d');
  for (const wrong of ['2026-02-30_2026-03-01', '2026-03-02_2026-03-01', 'x', '2026-01-01', '_', null, '<img>_<img>']) {
    assert.equal(range.read(wrong), '', String(wrong));
  }
});

test('the period before has the same length and ends the day before', () => {
  const period = { from: '2026-03-01', to: '2026-03-31' };
  assert.deepEqual(periodBefore(period), { from: '2026-01-29', to: '2026-02-28' });
  assert.equal(daysIn(periodBefore(period)), daysIn(period));
  assert.deepEqual(daysOf({ from: '2026-02-27', to: '2026-03-01' }), ['2026-02-27', '2026-02-28', '2026-03-01']);
  assert.equal(addDays('2028-02-28', 1), '2028-02-29');
});

test('a day begins when it does in its time zone, also where clocks are set', () => {
  const cases: [string, string, string][] = [
    ['2026-11-26', 'UTC', '2026-11-26T00:00:00.000Z'],
    ['2026-11-26', 'Europe/Berlin', '2026-11-25T23:00:00.000Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-10-26', 'Europe/Berlin', '2026-10-25T23:00:00.000Z'],
    ['2026-11-26', 'Asia/Kathmandu', '2026-11-25T18:15:00.000Z'],
    ['2026-11-26', 'Pacific/Kiritimati', '2026-11-25T10:00:00.000Z'],
    ['2026-11-26', 'America/Los_Angeles', '2026-11-26T08:00:00.000Z'],
    // clocks were set forward at midnight: the day began at one
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
  ];
  for (const [day, zone, begins] of cases) assert.equal(startOfDay(day, zone).toISOString(), begins, `${day} ${zone}`);
});

test('a period lasts until the day after it begins', () => {
  assert.deepEqual(instants({ from: '2026-03-28', to: '2026-03-29' }, 'Europe/Berlin'), {
    startDate: '2026-03-27T23:00:00.000Z',
    endDate: '2026-03-29T22:00:00.000Z',
  });
  assert.equal(dayIn('Pacific/Kiritimati', Date.parse('2026-11-25T10:00:00Z')), '2026-11-26');
  assert.equal(dayIn('America/Los_Angeles', Date.parse('2026-11-26T07:59:59Z')), '2026-11-25');
});
