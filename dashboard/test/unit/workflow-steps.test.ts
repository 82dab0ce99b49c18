import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config, Graph, Step, StepType } from '../../src/features/workflow/model/graph.ts';

// the catalogues ask the page for its language
Object.assign(globalThis, { document: { documentElement: { lang: 'en' } } });
const { faultsOf } = await import('../../src/features/workflow/step/check.ts');
const { summaryOf, portName, triggerSummary } = await import('../../src/features/workflow/step/summary.ts');
const { problemsOf } = await import('../../src/features/workflow/model/problems.ts');
const { BEGINNINGS, inUnits } = await import('../../src/features/workflow/step/kinds.ts');
const { readEvents, signed, sumOf } = await import('../../src/features/workflow/rehearsal/given.ts');

const NAMES = { templates: new Map([['t1', 'Welcome']]), segments: new Map([['g1', 'Friends']]) };
const step = (type: StepType, config: Config = {}, templateId: string | null = null): Step => ({
  id: type, type, name: type, position: { x: 0, y: 0 }, config, templateId,
});

test('what is wrong with a step is named as the API names it', () => {
  const cases: [StepType, Config, string[]][] = [
    ['DELAY', { amount: 1.5, unit: 'days' }, []],
    ['DELAY', { amount: 0, unit: 'days' }, ['config.amount']],
    ['DELAY', { amount: 366, unit: 'days' }, ['config.amount']],
    ['WAIT_FOR_EVENT', { eventName: ' ', timeout: -1 }, ['config.eventName', 'config.timeout']],
    ['WAIT_FOR_EVENT', { eventName: 'activated', timeout: 31_536_000 }, []],
    ['WAIT_UNTIL', { mode: 'date', date: 'soon' }, ['config.date']],
    ['WAIT_UNTIL', { mode: 'field', field: 'data.renewal', offset: { amount: -3, unit: 'days' } }, []],
    ['WAIT_UNTIL', { mode: 'field', field: 'renewal' }, ['config.field']],
    ['WAIT_UNTIL', { mode: 'window', from: '9', to: '17:30', days: [] }, ['config.from', 'config.days']],
    ['CONDITION', { field: 'event.plan', operator: 'equals', value: '' }, ['config.value']],
    ['CONDITION', { field: 'event.plan', operator: 'exists' }, []],
    ['CONDITION', { mode: 'multi', field: 'data.x', branches: [{ id: 'a' }, { id: 'a' }] }, ['config.branches.1.name']],
    ['CONDITION', { mode: 'filter', condition: { logic: 'AND', groups: [] } }, ['config.condition']],
    ['RANDOM_SPLIT', { branches: [{ id: 'a', weight: 1 }] }, ['config.branches']],
    ['RANDOM_SPLIT', { branches: [{ id: 'a', weight: 1 }, { id: 'b', weight: 0.5 }] }, ['config.branches.1.weight']],
    ['WEBHOOK', { url: 'example.com' }, ['config.url']],
    ['WEBHOOK', { url: 'https://x.example/{{email}}', headers: { 'a b': 'x' } }, ['config.headers.a b']],
    ['UPDATE_CONTACT', { updates: {}, subscriptionAction: 'none' }, ['config.updates']],
    ['UPDATE_CONTACT', { updates: { plan: null } }, []],
    ['ADD_TO_SEGMENT', { segmentId: '' }, ['config.segmentId']],
    ['SEND_EMAIL', { recipient: { type: 'CUSTOM', customEmail: 'x' } }, ['config.recipient.customEmail']],
    ['EXIT', { reason: 'x'.repeat(501) }, ['config.reason']],
  ];
  for (const [type, config, expected] of cases) {
    assert.deepEqual([...faultsOf(type, config).keys()], expected, `${type} ${JSON.stringify(config)}`);
  }
});

test('most kinds of steps begin with something that can be added at once', () => {
  const good = (['SEND_EMAIL', 'DELAY', 'WAIT_UNTIL', 'RANDOM_SPLIT', 'EXIT'] as const).filter((type) => faultsOf(type, BEGINNINGS[type]).size === 0);
  assert.equal(good.length, 5);
});

test('a step says in a line what it is set to do', () => {
  const cases: [Step, string][] = [
    [step('SEND_EMAIL', {}, 't1'), 'Welcome'],
    [step('SEND_EMAIL'), 'No template yet'],
    [step('SEND_EMAIL', { recipient: { type: 'CUSTOM', customEmail: 'boss@example.com' } }, 't1'), 'Welcome, to boss@example.com'],
    [step('DELAY', { amount: 1, unit: 'days' }), '1 day'],
    [step('WAIT_FOR_EVENT', { eventName: 'activated', timeout: 259_200 }), 'activated, for 3 days at most'],
    [step('WAIT_FOR_EVENT', { eventName: 'activated' }), 'activated, without end'],
    [step('WAIT_UNTIL', { mode: 'field', field: 'data.renewal', offset: { amount: -3, unit: 'days' } }), '3 days before data.renewal'],
    [step('WAIT_UNTIL', { mode: 'window', from: '09:00', to: '17:00' }), '09:00–17:00, every day'],
    [step('CONDITION', { field: 'data.plan', operator: 'equals', value: 'pro' }), 'data.plan is pro'],
    [step('CONDITION', { condition: { logic: 'AND', groups: [{ filters: [{}, {}] }] } }), 'By 2 conditions'],
    [step('RANDOM_SPLIT', { branches: [{ id: 'a', name: 'Short', weight: 1 }, { id: 'b', weight: 3 }] }), 'Short 1 : b 3'],
    [step('UPDATE_CONTACT', { updates: { plan: 'pro', trial: null }, subscriptionAction: 'subscribe' }), 'Sets plan, trial, Subscribes'],
    [step('ADD_TO_SEGMENT', { segmentId: 'g1' }), 'Friends'],
  ];
  for (const [one, expected] of cases) assert.equal(summaryOf(one, NAMES), expected);
  assert.equal(triggerSummary('EVENT', { eventName: 'paid', filter: {} }), 'On paid, if a filter holds');
  assert.equal(triggerSummary('MANUAL', null), 'Only by request');
  assert.equal(portName(step('CONDITION', {}), { branch: 'yes', outcome: null }), 'Yes');
  assert.equal(portName(step('WAIT_FOR_EVENT'), { branch: null, outcome: 'TIMEOUT' }), 'Timeout');
  assert.deepEqual(inUnits(259_200), { amount: 3, unit: 'days' });
  assert.deepEqual(inUnits(90), { amount: 1.5, unit: 'minutes' });
});

test('what fails comes before what is only unlikely to be meant', () => {
  const graph: Graph = {
    steps: [
      { ...step('TRIGGER'), id: 'trigger' },
      { ...step('CONDITION', { field: 'data.x', operator: 'exists' }), id: 'test' },
      { ...step('SEND_EMAIL'), id: 'bare' },
      { ...step('SEND_EMAIL', {}, 't1'), id: 'mail' },
      { ...step('ADD_TO_SEGMENT', { segmentId: 'gone' }), id: 'add' },
      { ...step('DELAY', { amount: 1, unit: 'days' }), id: 'alone' },
    ],
    ways: [
      { id: '1', from: 'trigger', to: 'test', branch: null, outcome: null, priority: 0 },
      { id: '2', from: 'test', to: 'bare', branch: 'yes', outcome: null, priority: 0 },
      { id: '3', from: 'test', to: 'mail', branch: 'old', outcome: null, priority: 0 },
      { id: '4', from: 'bare', to: 'add', branch: null, outcome: null, priority: 0 },
    ],
  };
  const around = { withTemplate: new Set(['mail']), segments: new Set(['g1']), triggerType: 'EVENT', triggerConfig: {} };
  const found = problemsOf(graph, around).map(({ kind, severity, step: at }) => `${severity} ${kind} ${at}`);
  assert.deepEqual(found, ['fails noTemplate bare', 'fails segmentGone add', 'note stale test', 'note unreachable alone']);
  const past = { ...around, triggerType: 'SCHEDULE', triggerConfig: { start: '2020-01-01T09:00' } };
  assert.ok(problemsOf(graph, past).some(({ kind }) => kind === 'past'));
});

test('given events are read a line at a time', () => {
  assert.equal(readEvents('{"email": "a@b.c"}\n\n{"email": "d@e.f"}').events.length, 2);
  assert.equal(readEvents('{"email": "a@b.c"}\n[1]').wrong, 2);
  assert.equal(readEvents('nothing').wrong, 1);
  assert.equal(signed(-3, String), '−3');
  assert.equal(signed(2, String), '+2');
  assert.equal(signed(0, String), '');
  assert.equal(sumOf({ a: 1, b: 2 }), 3);
});
