import assert from 'node:assert/strict';
import { test } from 'node:test';
import { converted, isChanged, patchOf, rowsOf, typeOf, valueOf } from '#/features/contact/data-rows';
import { csvOf } from '#/features/contact/csv';
import { csvCell } from '#/ui/csv';

const DATA = { plan: 'pro', score: 42, vip: false, born: '1815-12-10', seen: '2026-01-31T09:30:00Z', tags: ['a'], address: { city: 'London' }, code: '007' };

test('values are written as what they are, and nothing is sent that nobody changed', () => {
  const types = Object.fromEntries(rowsOf(DATA).map((row) => [row.name, row.type]));
  assert.deepEqual(types, { address: 'json', born: 'date', code: 'text', plan: 'text', score: 'number', seen: 'text', tags: 'json', vip: 'boolean' });
  assert.deepEqual(patchOf(rowsOf(DATA)).patch, {});
  for (const row of rowsOf(DATA)) assert.deepEqual(valueOf(row), { value: row.before?.value }, row.name);
});

test('what is changed, added and removed is sent', () => {
  const rows = rowsOf({ plan: 'pro', score: 42, old: 'x' });
  for (const row of rows) {
    if (row.name === 'plan') row.text = 'free';
    row.isRemoved = row.name === 'old';
  }
  rows.push({ id: 99, name: 'tags', type: 'json', text: '["a", 1]', isRemoved: false });
  rows.push({ id: 100, name: 'never', type: 'text', text: 'x', isRemoved: true });
  assert.deepEqual(patchOf(rows).patch, { plan: 'free', old: null, tags: ['a', 1] });
});

test('another type of the same text is a change', () => {
  const [row] = rowsOf({ code: '42' });
  assert.ok(row);
  assert.equal(isChanged(row), false);
  assert.deepEqual(patchOf([{ ...row, type: 'number' }]).patch, { code: 42 });
});

test('what is no value says why', () => {
  const codes = (['number', 'date', 'json', 'json', 'text'] as const).map((type, index) => {
    const result = valueOf({ type, text: ['12x', '2026-13-45', '{', '"text"', ''][index] ?? '' });
    return 'problem' in result ? result.problem.code : 'none';
  });
  assert.deepEqual(codes, ['notNumber', 'notDate', 'notJson', 'noList', 'emptyValue']);
});

test('a text stays where another type can hold it', () => {
  assert.equal(converted('12', 'number'), '12');
  assert.equal(converted('twelve', 'number'), '');
  assert.equal(converted('Yes', 'boolean'), 'true');
  assert.equal(converted('2026-01-31T10:00:00Z', 'date'), '2026-01-31');
  assert.equal(converted('[1]', 'json'), '[1]');
  assert.equal(typeOf('2026-01-31T10:00:00Z'), 'text', 'a moment within a day is no day');
});

test('CSV is no formula, and holds everything', () => {
  assert.equal(csvCell('=1+1'), "'=1+1");
  assert.equal(csvCell(-5), '-5');
  assert.equal(csvCell('a "b", c'), '"a ""b"", c"');
  const one = { id: '1', email: 'ada@example.org', subscribed: true, createdAt: 'c', updatedAt: 'u' };
  const text = csvOf([{ ...one, data: { plan: 'pro' } }, { ...one, data: { tags: ['a', 'b'] } }] as unknown as Parameters<typeof csvOf>[0]);
  assert.equal(text, 'email,subscribed,createdAt,updatedAt,plan,tags\r\nada@example.org,true,c,u,pro,\r\nada@example.org,true,c,u,,"[""a"",""b""]"\r\n');
});

test('a field may have any name', () => {
  const { patch } = patchOf([{ id: 0, name: '__proto__', type: 'text', text: 'x', isRemoved: false }]);
  assert.equal(JSON.stringify(patch), '{"__proto__":"x"}');
});
