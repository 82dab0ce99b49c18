import { asConfig, branchesAt, type Config, modeOf, numberAt, type StepType, textAt } from '../model/graph';
import { isUnary, UNITS, unitOf } from './kinds';
import { t } from './texts';

/** What is wrong with a configuration, by the paths that the API names. */
export type Faults = ReadonlyMap<string, string>;

const MAX_SECONDS = 31_536_000;
const MAX_NAME = 100;
const MAX_BRANCHES = 20;
const MAX_WEIGHT = 1_000_000;
const MAX_REASON = 500;
const MAX_EVENT = 255;
const FIELD = /^(?:contact\.)?(?:email|subscribed|createdAt|updatedAt|id|data\..+)$|^(?:event|workflow)\..+$/;
const TIME = /^\d{2}:\d{2}(?::\d{2})?$/;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const HEADER = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;

type Note = (path: string, message: string | false | undefined) => void;

function checkEvent(config: Config, note: Note): void {
  const name = textAt(config, 'eventName').trim();
  note('eventName', name === '' ? t.issues.required : name.length > MAX_EVENT && t.issues.long(MAX_EVENT));
}

function checkAmount(config: Config, at: string, note: Note, least: number): void {
  const amount = numberAt(config, 'amount');
  const seconds = Math.abs(amount ?? 0) * UNITS[unitOf(textAt(config, 'unit'))];
  if (amount === undefined) note(`${at}amount`, t.issues.required);
  else if (amount <= least) note(`${at}amount`, t.issues.positive);
  else note(`${at}amount`, seconds > MAX_SECONDS && t.issues.days);
}

function checkField(config: Config, note: Note): void {
  const field = textAt(config, 'field').trim();
  note('field', field === '' ? t.issues.required : !FIELD.test(field) && t.issues.field);
}

function checkBranches(config: Config, least: number, note: Note): void {
  const branches = branchesAt(config);
  if (branches.length < least) note('branches', t.issues.few(least));
  if (branches.length > MAX_BRANCHES) note('branches', t.issues.many(MAX_BRANCHES));
  const ids = branches.map((branch) => branch.id);
  branches.forEach((branch, index) => {
    const at = `branches.${index}.`;
    if (branch.id === '') note(`${at}name`, t.issues.required);
    else if (ids.indexOf(branch.id) !== index || (least === 1 && branch.id === 'default')) note(`${at}name`, t.issues.twice);
    else note(`${at}name`, branch.name.length > MAX_NAME && t.issues.long(MAX_NAME));
  });
}

/** Whether something has the shape of a filter tree, as far as its outline goes. */
export function isFilterTree(value: unknown): boolean {
  const { logic, groups } = asConfig(value);
  return (logic === 'AND' || logic === 'OR') && Array.isArray(groups) && groups.length > 0;
}

function checkCondition(config: Config, note: Note): void {
  const mode = modeOf(config);
  if (mode === 'filter') {
    note('condition', !isFilterTree(config.condition) && t.issues.tree);
    return;
  }
  checkField(config, note);
  if (mode === 'multi') checkBranches(config, 1, note);
  else note('value', !isUnary(textAt(config, 'operator')) && config.value === '' && t.issues.required);
}

function checkUntil(config: Config, note: Note): void {
  switch (textAt(config, 'mode')) {
    case 'date':
      note('date', Number.isNaN(Date.parse(textAt(config, 'date'))) && t.issues.date);
      return;
    case 'field':
      checkField(config, note);
      if (config.offset !== undefined) checkAmount(asConfig(config.offset), 'offset.', note, Number.NEGATIVE_INFINITY);
      return;
    default:
      for (const name of ['from', 'to']) note(name, !TIME.test(textAt(config, name)) && t.issues.time);
      note('days', Array.isArray(config.days) && config.days.length === 0 && t.issues.required);
  }
}

function checkWebhook(config: Config, note: Note): void {
  const url = textAt(config, 'url').trim();
  note('url', url === '' ? t.issues.required : !/^https?:\/\/.+/.test(url) && t.issues.url);
  Object.keys(asConfig(config.headers)).forEach((name) => note(`headers.${name}`, !HEADER.test(name) && t.issues.header));
}

function checkMail(config: Config, note: Note): void {
  const recipient = asConfig(config.recipient);
  if (textAt(recipient, 'type') !== 'CUSTOM') return;
  note('recipient.customEmail', !EMAIL.test(textAt(recipient, 'customEmail').trim()) && t.issues.email);
}

function checkUpdate(config: Config, note: Note): void {
  const action = textAt(config, 'subscriptionAction');
  const changes = Object.keys(asConfig(config.updates)).length > 0 || (action !== '' && action !== 'none');
  note('updates', !changes && t.issues.nothing);
}

const CHECKS: Readonly<Partial<Record<StepType, (config: Config, note: Note) => void>>> = {
  SEND_EMAIL: checkMail,
  DELAY: (config, note) => checkAmount(config, '', note, 0),
  WAIT_FOR_EVENT: (config, note) => {
    checkEvent(config, note);
    const timeout = numberAt(config, 'timeout') ?? 0;
    note('timeout', timeout < 0 ? t.issues.positive : timeout > MAX_SECONDS && t.issues.days);
  },
  WAIT_UNTIL: checkUntil,
  CONDITION: checkCondition,
  RANDOM_SPLIT: (config, note) => {
    checkBranches(config, 2, note);
    branchesAt(config).forEach((branch, index) => {
      const weight = numberAt(branch.config, 'weight') ?? 0;
      const good = Number.isInteger(weight) && weight >= 1 && weight <= MAX_WEIGHT;
      note(`branches.${index}.weight`, !good && t.issues.weight);
    });
  },
  WEBHOOK: checkWebhook,
  UPDATE_CONTACT: checkUpdate,
  ADD_TO_SEGMENT: (config, note) => note('segmentId', textAt(config, 'segmentId') === '' && t.issues.required),
  REMOVE_FROM_SEGMENT: (config, note) => note('segmentId', textAt(config, 'segmentId') === '' && t.issues.required),
  EXIT: (config, note) => note('reason', textAt(config, 'reason').length > MAX_REASON && t.issues.long(MAX_REASON)),
};

/** What is wrong with how a step is set, by the rules that the documentation tells. The service has the last word. */
export function faultsOf(type: StepType, config: Config): Faults {
  const faults = new Map<string, string>();
  CHECKS[type]?.(config, (path, message) => {
    if (message) faults.set(`config.${path}`, message);
  });
  return faults;
}
