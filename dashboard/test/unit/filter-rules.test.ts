import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf, dayValue, isComplete, kindOf, operatorsOf, valueKindOf, withField, withOperator } from '#/features/segment/builder/rules';
import { newRule, type Operator, type Rule } from '#/features/segment/builder/tree';

const rule = (fields: Partial<Rule>): Rule => ({ ...newRule(), ...fields });

test('a field says what it is about', () => {
  const kinds = ['email', 'email.opened', 'email.nothing', 'createdAt', 'data.plan', 'event.login', 'segment.1', 'subscribed', ''].map((field) => kindOf(field));
  assert.deepEqual(kinds, ['email', 'activity', 'event', 'time', 'data', 'event', 'segment', 'subscribed', 'none']);
  assert.equal(kindOf('event.total', 'greaterThan'), 'data', 'a value of the event that is handled');
});

test('after a day means after its end, until a day includes it', () => {
  const cases: [Operator, string][] = [
    ['greaterThan', '2025-01-31T23:59:59.999Z'],
    ['lessThanOrEqual', '2025-01-31T23:59:59.999Z'],
    ['greaterThanOrEqual', '2025-01-31'],
    ['lessThan', '2025-01-31'],
    ['equals', '2025-01-31'],
  ];
  for (const [operator, value] of cases) {
    assert.equal(dayValue(operator, '2025-01-31'), value);
    assert.equal(dayOf(operator, value), '2025-01-31');
  }
  assert.equal(dayOf('lessThan', '2025-01-31T10:00:00Z'), undefined, 'a moment within a day is no day');
  assert.equal(dayOf('equals', '2025-01-31T10:00:00Z'), '2025-01-31', 'but equality is of days');
});

test('another operator keeps the value where it fits', () => {
  const date = rule({ field: 'createdAt', operator: 'lessThan', value: '2025-01-31' });
  assert.deepEqual(withOperator(date, 'greaterThan', 'date'), { operator: 'greaterThan', value: '2025-01-31T23:59:59.999Z' });
  assert.deepEqual(withOperator(date, 'within', 'date'), { operator: 'within', value: 30, unit: 'days' });
  assert.deepEqual(withOperator(rule({ field: 'data.a', value: 'x' }), 'exists', 'text'), { operator: 'exists', value: undefined, unit: undefined });
  assert.deepEqual(withOperator(rule({ field: 'data.a', value: 'x' }), 'contains', 'text'), { operator: 'contains' });
});

test('another field takes an operator that it knows', () => {
  assert.equal(withField(rule({ field: 'email', operator: 'contains', value: 'x' }), 'subscribed', 'boolean').operator, 'equals');
  assert.equal(withField(rule({ field: 'email', operator: 'contains', value: 'x' }), 'event.login', 'text').operator, 'triggered');
  assert.deepEqual(withField(rule({ field: 'data.a', operator: 'contains', value: 'x' }), 'data.b', 'text'), { field: 'data.b', as: undefined });
  assert.equal(withField(rule({ field: 'data.a', operator: 'contains', value: 'x' }), 'data.n', 'number').value, undefined);
});

test('a value is written as what it is', () => {
  assert.equal(valueKindOf(rule({ field: 'data.a', value: 5 }), 'text'), 'number');
  assert.equal(valueKindOf(rule({ field: 'data.a', value: '2025-01-31' }), 'text'), 'date');
  assert.equal(valueKindOf(rule({ field: 'data.a', value: '2025-01-31', as: 'text' }), 'text'), 'text', 'unless somebody chose');
  assert.equal(valueKindOf(rule({ field: 'data.a' }), 'number'), 'number');
});

test('every operator of the API can be chosen somewhere', () => {
  const all = new Set([
    ...(['text', 'number', 'boolean', 'date'] as const).flatMap((type) => operatorsOf('data', type)),
    ...operatorsOf('email', 'text'), ...operatorsOf('time', 'date'), ...operatorsOf('event', 'text'), ...operatorsOf('segment', 'text'),
  ]);
  assert.equal(all.size, 19);
});

test('a rule without a value is not complete, unless it needs none', () => {
  assert.equal(isComplete(rule({ field: 'data.a' })), false);
  assert.equal(isComplete(rule({ field: 'data.a', value: false })), true);
  assert.equal(isComplete(rule({ field: 'data.a', operator: 'exists' })), true);
});
