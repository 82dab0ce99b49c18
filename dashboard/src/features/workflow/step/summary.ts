import { minute } from '#/i18n/format';
import { asConfig, branchesAt, type Config, modeOf, numberAt, type Port, type Step, textAt } from '../model/graph';
import { inUnits, isUnary, OPERATORS, unitOf, WEEKDAYS } from './kinds';
import { t } from './texts';

/** Names of what steps refer to by id. */
export interface Names {
  readonly templates: ReadonlyMap<string, string>;
  readonly segments: ReadonlyMap<string, string>;
}

/** A length of time in words. */
export const lengthOf = (amount: number, unit: string): string => t.units[unitOf(unit)](amount);

/** How many filters a filter tree has. */
export function countFilters(tree: unknown): number {
  const groups: readonly unknown[] = Array.isArray(asConfig(tree).groups) ? (asConfig(tree).groups as unknown[]) : [];
  return groups.map(asConfig).reduce((sum, group) => {
    const filters = Array.isArray(group.filters) ? group.filters.length : 0;
    return sum + filters + (group.conditions ? countFilters(group.conditions) : 0);
  }, 0);
}

function shown(value: unknown): string {
  if (value === true) return t.yes;
  if (value === false) return t.no;
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

function test(config: Config): string {
  const operator = textAt(config, 'operator');
  const word = OPERATORS.find((known) => known === operator);
  const says = word ? t.operators[word] : operator;
  return isUnary(operator) ? says : `${says} ${shown(config.value)}`;
}

function mail(step: Step, names: Names): string {
  const id = step.templateId ?? textAt(step.config, 'templateId');
  const template = id ? (names.templates.get(id) ?? t.templateGone) : t.noTemplate;
  const address = textAt(asConfig(step.config.recipient), 'customEmail');
  return address ? `${template}, ${t.toAddress(address)}` : template;
}

function waitUntil(config: Config): string {
  switch (textAt(config, 'mode')) {
    case 'date': {
      const date = textAt(config, 'date');
      return Number.isNaN(Date.parse(date)) ? date : minute(date);
    }
    case 'field': {
      const offset = asConfig(config.offset);
      const amount = numberAt(offset, 'amount') ?? 0;
      const field = textAt(config, 'field');
      if (amount === 0) return field;
      const time = lengthOf(Math.abs(amount), textAt(offset, 'unit'));
      return amount < 0 ? t.before(time, field) : t.after(time, field);
    }
    default: {
      const days: readonly unknown[] = Array.isArray(config.days) ? config.days : WEEKDAYS;
      const known = WEEKDAYS.filter((day) => days.includes(day));
      const which = known.length === 7 || known.length === 0 ? t.everyDay : known.map((day) => t.weekdays[day]).join(' ');
      return `${textAt(config, 'from')}–${textAt(config, 'to')}, ${which}`;
    }
  }
}

function condition(config: Config): string {
  const mode = modeOf(config);
  if (mode === 'filter') return t.byFilter(countFilters(config.condition));
  const field = textAt(config, 'field');
  return mode === 'multi' ? t.byField(field) : `${field} ${test(config)}`;
}

function update(config: Config): string {
  const fields = Object.keys(asConfig(config.updates));
  const action = textAt(config, 'subscriptionAction');
  const parts = fields.length > 0 ? [t.sets(fields.join(', '))] : [];
  if (action === 'subscribe') parts.push(t.subscribes);
  if (action === 'unsubscribe') parts.push(t.unsubscribes);
  return parts.join(', ');
}

/** What a trigger starts on, in words. */
export function triggerSummary(type: string, config: unknown): string {
  const given = asConfig(config);
  if (type === 'EVENT') {
    const event = textAt(given, 'eventName');
    return given.filter ? t.onEventIf(event) : t.onEvent(event);
  }
  if (type === 'SCHEDULE') {
    const repeat = textAt(given, 'repeat') || 'once';
    const start = textAt(given, 'start').replace('T', ' ');
    const word = Object.entries(t.scheduled).find(([name]) => name === repeat)?.[1] ?? repeat;
    return `${start}, ${word}`;
  }
  return t.byRequest;
}

/** What a step is set to do, in one line. */
export function summaryOf(step: Step, names: Names): string {
  const { config } = step;
  switch (step.type) {
    case 'TRIGGER':
      return '';
    case 'SEND_EMAIL':
      return mail(step, names);
    case 'DELAY':
      return lengthOf(numberAt(config, 'amount') ?? 0, textAt(config, 'unit'));
    case 'WAIT_FOR_EVENT': {
      const seconds = numberAt(config, 'timeout') ?? 0;
      const { amount, unit } = inUnits(seconds);
      return t.forEvent(textAt(config, 'eventName'), seconds > 0 ? lengthOf(amount, unit) : '');
    }
    case 'WAIT_UNTIL':
      return waitUntil(config);
    case 'CONDITION':
      return condition(config);
    case 'RANDOM_SPLIT':
      return branchesAt(config).map((branch) => `${branch.name || branch.id} ${numberAt(branch.config, 'weight') ?? ''}`).join(' : ');
    case 'WEBHOOK':
      return `${textAt(config, 'method') || 'POST'} ${textAt(config, 'url')}`;
    case 'UPDATE_CONTACT':
      return update(config);
    case 'ADD_TO_SEGMENT':
    case 'REMOVE_FROM_SEGMENT':
      return names.segments.get(textAt(config, 'segmentId')) ?? t.noSegment;
    case 'EXIT':
      return textAt(config, 'reason');
  }
}

/** What a way on is called; empty for the only one of a step. */
export function portName(step: Step, port: Pick<Port, 'branch' | 'outcome'>): string {
  if (port.outcome === 'EVENT') return t.event;
  if (port.outcome === 'TIMEOUT') return t.timeout;
  if (port.branch === null) return '';
  if (step.type === 'CONDITION') {
    if (port.branch === 'default') return t.otherwise;
    if (modeOf(step.config) !== 'multi') {
      if (port.branch === 'yes') return t.yes;
      if (port.branch === 'no') return t.no;
    }
  }
  const branch = branchesAt(step.config).find((known) => known.id === port.branch);
  return branch?.name || port.branch;
}
