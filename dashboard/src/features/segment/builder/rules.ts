import type { Operator, Rule } from './tree';

/** What a field is about; it decides which operators there are. */
export type FieldKind = 'none' | 'email' | 'subscribed' | 'time' | 'data' | 'event' | 'activity' | 'segment';
/** What a value is written as. */
export type ValueKind = 'text' | 'number' | 'boolean' | 'date';

/** What can become of a mail. */
export const ACTIVITIES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'] as const;

const EQUALS: readonly Operator[] = ['equals', 'notEquals'];
const PARTS: readonly Operator[] = ['contains', 'notContains'];
const ORDERS: readonly Operator[] = ['greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual'];
const SPANS: readonly Operator[] = ['within', 'olderThan'];
const PRESENCE: readonly Operator[] = ['exists', 'notExists'];
const HAPPENED: readonly Operator[] = ['triggered', 'notTriggered', 'triggeredWithin', 'notTriggeredWithin', 'triggeredOlderThan'];
const MEMBER: readonly Operator[] = ['memberOfSegment', 'notMemberOfSegment'];

/** What a field is about, by its name. */
export function kindOf(field: string, operator?: Operator): FieldKind {
  if (field === '') return 'none';
  if (field === 'email' || field === 'subscribed') return field;
  if (field === 'createdAt' || field === 'updatedAt') return 'time';
  if (field.startsWith('data.')) return 'data';
  if (field.startsWith('segment.')) return 'segment';
  if (ACTIVITIES.some((activity) => field === `email.${activity}`)) return 'activity';
  // where an event is handled, other operators look at a value of its data
  if (field.startsWith('event.') && operator && !HAPPENED.includes(operator)) return 'data';
  return 'event';
}

/** The operators of a field. Those of data depend on what its values are. */
export function operatorsOf(kind: FieldKind, value: ValueKind): readonly Operator[] {
  switch (kind) {
    case 'email':
      return [...PARTS, ...EQUALS];
    case 'subscribed':
      return ['equals'];
    case 'time':
      return [...SPANS, ...EQUALS, ...ORDERS];
    case 'event':
    case 'activity':
      return HAPPENED;
    case 'segment':
      return MEMBER;
    case 'data':
      return ofData(value);
    case 'none':
      return EQUALS;
  }
}

function ofData(value: ValueKind): readonly Operator[] {
  switch (value) {
    case 'boolean':
      return [...EQUALS, ...PRESENCE];
    case 'number':
      return [...EQUALS, ...ORDERS, ...PRESENCE];
    case 'date':
      return [...SPANS, ...EQUALS, ...ORDERS, ...PRESENCE];
    case 'text':
      return [...EQUALS, ...PARTS, ...ORDERS, ...PRESENCE];
  }
}

/** Whether an operator has a number of units as its value. */
export function isSpan(operator: Operator): boolean {
  return SPANS.includes(operator) || ['triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'].includes(operator);
}

/** Whether an operator has no value. */
export function isBare(operator: Operator): boolean {
  return PRESENCE.includes(operator) || MEMBER.includes(operator) || operator === 'triggered' || operator === 'notTriggered';
}

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{3})?Z?)?$/;

/** What a rule's value is written as: by the value itself, or else by the type of its field. */
export function valueKindOf(rule: Rule, fieldType: ValueKind): ValueKind {
  const kind = kindOf(rule.field, rule.operator);
  if (kind === 'time') return 'date';
  if (rule.as) return rule.as;
  if (SPANS.includes(rule.operator)) return 'date';
  switch (typeof rule.value) {
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'string':
      return rule.value === '' ? fieldType : DATE.test(rule.value) ? 'date' : 'text';
    default:
      return fieldType;
  }
}

/** The last millisecond of a day: after a day means after its end. */
const END = 'T23:59:59.999Z';

/** The value of a comparison with a day, so that "after" means after its end and "until" includes it. All days are UTC. */
export function dayValue(operator: Operator, day: string): string {
  const end = operator === 'greaterThan' || operator === 'lessThanOrEqual';
  return day !== '' && end ? `${day}${END}` : day;
}

/** The day of such a value; undefined where it is a moment within a day. */
export function dayOf(operator: Operator, value: unknown): string | undefined {
  if (value === undefined || value === '') return '';
  if (typeof value !== 'string') return undefined;
  const day = value.slice(0, 10);
  const isDay = value.length === 10 || value === dayValue(operator, day);
  return isDay ? day : operator === 'equals' || operator === 'notEquals' ? day : undefined;
}

/** A rule about another field, as far as what was filled in fits it. */
export function withField(rule: Rule, field: string, type: ValueKind): Partial<Rule> {
  const before = kindOf(rule.field, rule.operator);
  const kind = kindOf(field);
  const allowed = operatorsOf(kind, type);
  const operator = before === kind && allowed.includes(rule.operator) ? rule.operator : (allowed[0] ?? 'equals');
  const next: Rule = { ...rule, field, operator, as: undefined };
  if (before === kind && valueKindOf(next, type) === type && operator === rule.operator) return { field, as: undefined };
  return { field, operator, as: undefined, ...emptyValue(kind, operator, type) };
}

/** A rule with another operator, as far as its value fits it. */
export function withOperator(rule: Rule, operator: Operator, type: ValueKind): Partial<Rule> {
  const kind = kindOf(rule.field, rule.operator);
  if (isBare(operator)) return { operator, value: undefined, unit: undefined };
  if (isSpan(operator) !== isSpan(rule.operator) || isBare(rule.operator)) {
    return { operator, ...emptyValue(kind, operator, type) };
  }
  const day = valueKindOf(rule, type) === 'date' && !isSpan(operator) ? dayOf(rule.operator, rule.value) : undefined;
  return day === undefined ? { operator } : { operator, value: dayValue(operator, day) };
}

/** The value that a rule begins with. */
export function emptyValue(kind: FieldKind, operator: Operator, type: ValueKind): { value: unknown; unit: Rule['unit'] } {
  if (isBare(operator)) return { value: undefined, unit: undefined };
  if (isSpan(operator)) return { value: 30, unit: 'days' };
  if (kind === 'subscribed' || (kind === 'data' && type === 'boolean')) return { value: true, unit: undefined };
  return { value: undefined, unit: undefined };
}

/** Whether a rule says something. What it says is checked by the API. */
export function isComplete(rule: Rule): boolean {
  if (rule.field === '') return false;
  return isBare(rule.operator) || (rule.value !== undefined && rule.value !== '');
}
