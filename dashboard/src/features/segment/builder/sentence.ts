import { day, number } from '#/i18n/format';
import { ACTIVITIES, dayOf, isBare, isComplete, isSpan, kindOf, valueKindOf, type ValueKind } from './rules';
import { t } from './texts';
import type { Group, Operator, Rule } from './tree';

/** What is known of fields: how they are called, and what they hold. */
export interface Names {
  segment: (id: string) => string | undefined;
  type: (field: string) => ValueKind;
}

/** What a field is called. */
export function fieldName(field: string, names: Names, operator?: Operator): string {
  const kind = kindOf(field, operator);
  const rest = field.slice(field.indexOf('.') + 1);
  switch (kind) {
    case 'none':
      return '';
    case 'email':
    case 'subscribed':
    case 'time':
      return t.fields[field] ?? field;
    case 'data':
      return field.startsWith('event.') ? t.eventValue(rest) : rest;
    case 'activity':
      return t.activities[ACTIVITIES.find((one) => one === rest) ?? ''] ?? field;
    case 'event':
      return t.eventNamed(field.startsWith('event.') ? rest : field);
    case 'segment':
      return t.segmentNamed(names.segment(rest) ?? rest);
  }
}

/** What an operator is called with a rule's field and value. */
export function operatorName(operator: Operator, kind: ValueKind): string {
  const special = kind === 'date' ? t.dateOperators : kind === 'text' ? t.textOperators : undefined;
  return special?.[operator] ?? t.operators[operator];
}

function valueText(rule: Rule, kind: ValueKind): string {
  if (isSpan(rule.operator)) return `${number(Number(rule.value ?? 0))} ${t.units[rule.unit ?? 'days']}`;
  if (rule.field === 'subscribed') return rule.value === true ? t.subscribed : t.unsubscribed;
  if (typeof rule.value === 'boolean') return rule.value ? t.yes : t.no;
  if (typeof rule.value === 'number') return String(rule.value);
  const date = kind === 'date' ? dayOf(rule.operator, rule.value) : undefined;
  if (date && !Number.isNaN(Date.parse(date))) return day(date);
  return t.quoted(String(rule.value));
}

/** A rule in words. */
export function ruleText(rule: Rule, names: Names): string {
  if (!isComplete(rule)) return t.empty;
  const kind = valueKindOf(rule, names.type(rule.field));
  if (kindOf(rule.field) === 'segment') {
    const id = rule.field.slice('segment.'.length);
    const name = t.quoted(names.segment(id) ?? id);
    return rule.operator === 'memberOfSegment' ? t.inSegment(name) : t.notInSegment(name);
  }
  const parts = [fieldName(rule.field, names, rule.operator), operatorName(rule.operator, kind)];
  if (!isBare(rule.operator)) parts.push(valueText(rule, kind));
  return parts.join(' ');
}

function groupText(group: Group, names: Names): string {
  const parts = group.children.map((node) => {
    if (node.kind === 'rule') return ruleText(node, names);
    return node.children.length > 1 ? `(${groupText(node, names)})` : groupText(node, names);
  });
  return parts.join(` ${group.logic === 'AND' ? t.and : t.or} `);
}

/** A whole condition as a sentence. */
export function sentence(group: Group, names: Names): string {
  return group.children.length === 0 ? t.nobodySentence : t.sentence(groupText(group, names));
}
