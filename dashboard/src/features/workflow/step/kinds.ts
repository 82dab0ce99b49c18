import { CalendarClock, CircleStop, Clock, Flag, GitBranch, Hourglass, type IconNode, Mail, Shuffle, UserMinus, UserPen, UserPlus, Webhook } from 'lucide';
import type { Config, StepType } from '../model/graph';

/** The picture of each kind of step. */
export const ICONS: Readonly<Record<StepType, IconNode>> = {
  TRIGGER: Flag,
  SEND_EMAIL: Mail,
  DELAY: Clock,
  WAIT_FOR_EVENT: Hourglass,
  WAIT_UNTIL: CalendarClock,
  CONDITION: GitBranch,
  RANDOM_SPLIT: Shuffle,
  WEBHOOK: Webhook,
  UPDATE_CONTACT: UserPen,
  ADD_TO_SEGMENT: UserPlus,
  REMOVE_FROM_SEGMENT: UserMinus,
  EXIT: CircleStop,
};

/** The kinds that can be added, the most common first. */
export const ADDABLE = [
  'SEND_EMAIL',
  'DELAY',
  'WAIT_FOR_EVENT',
  'CONDITION',
  'WAIT_UNTIL',
  'RANDOM_SPLIT',
  'UPDATE_CONTACT',
  'WEBHOOK',
  'ADD_TO_SEGMENT',
  'REMOVE_FROM_SEGMENT',
  'EXIT',
] as const satisfies readonly StepType[];

/** What the form of a new step begins with. */
export const BEGINNINGS: Readonly<Record<StepType, Config>> = {
  TRIGGER: {},
  SEND_EMAIL: {},
  DELAY: { amount: 1, unit: 'days' },
  WAIT_FOR_EVENT: { eventName: '', timeout: 259_200 },
  WAIT_UNTIL: { mode: 'window', from: '09:00', to: '17:00', days: ['MO', 'TU', 'WE', 'TH', 'FR'] },
  CONDITION: { field: '', operator: 'equals', value: '' },
  RANDOM_SPLIT: { branches: [{ id: 'a', name: 'A', weight: 1 }, { id: 'b', name: 'B', weight: 1 }] },
  WEBHOOK: { url: '', method: 'POST' },
  UPDATE_CONTACT: { updates: {}, subscriptionAction: 'none' },
  ADD_TO_SEGMENT: { segmentId: '' },
  REMOVE_FROM_SEGMENT: { segmentId: '' },
  EXIT: {},
};

/** The days of the week as the API names them. */
export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
/** The units of lengths of time, with their seconds. */
export const UNITS = { minutes: 60, hours: 3_600, days: 86_400 } as const;
/** A unit of lengths of time. */
export type Unit = keyof typeof UNITS;
/** How a field is compared with a value. */
export const OPERATORS = [
  'equals', 'notEquals', 'contains', 'notContains', 'greaterThan', 'lessThan', 'greaterThanOrEqual', 'lessThanOrEqual', 'exists', 'notExists',
] as const;
/** One of them. */
export type Operator = (typeof OPERATORS)[number];
/** Whether an operator compares with nothing. */
export const isUnary = (operator: string): boolean => operator === 'exists' || operator === 'notExists';

/** A unit by its name; days when it is none. */
export const unitOf = (name: string): Unit => (name === 'minutes' || name === 'hours' ? name : 'days');

/** Seconds in the largest unit that divides them. */
export function inUnits(seconds: number): { amount: number; unit: Unit } {
  for (const unit of ['days', 'hours'] as const) {
    if (seconds !== 0 && seconds % UNITS[unit] === 0) return { amount: seconds / UNITS[unit], unit };
  }
  return { amount: seconds / UNITS.minutes, unit: 'minutes' };
}
