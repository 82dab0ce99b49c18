import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

let service: Service;

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;

async function template(name: string, type = 'TRANSACTIONAL'): Promise<string> {
  const body = { name, type, from: 'hello@acme.test', subject: `${type}: {{name ?? "friend"}}`, body: '<p>Hello</p>' };
  return (await service.api('POST', '/templates', { body })).id;
}

/** Opens a workflow, for the owner of the project. */
async function opened(id: string): Promise<Visitor> {
  const owner = await Visitor.of(service);
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}`);
  return owner;
}

/** A step of the canvas, by the beginning of what it is called. */
const step = (page: Page, name: string) => page.getByRole('group', { name: 'Steps as a graph' }).getByRole('button', { name: new RegExp(`^${name}`) });

/** Waits until a step of the canvas has the keyboard. */
async function focused(page: Page, name: string): Promise<void> {
  await page.waitForFunction((text) => document.activeElement?.getAttribute('aria-label')?.startsWith(text), name);
}

/** Waits until the field that has the keyboard shows what was chosen: where a list still comes, Enter waits for it. */
async function chosen(page: Page, label: string): Promise<void> {
  await page.waitForFunction((text) => (document.activeElement as HTMLInputElement | null)?.value === text, label);
}

/** Adds a step behind the one that has the keyboard, up to its form: the kind is found by typing. */
async function addByKey(page: Page, kind: string): Promise<void> {
  await page.keyboard.press('a');
  const find = page.getByPlaceholder('Find a kind of step…');
  await find.waitFor();
  await page.keyboard.type(kind);
  await page.locator('[cmdk-item][data-selected=true]').filter({ hasText: new RegExp(kind, 'i') }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Add the step' }).waitFor();
}

test('somebody builds a workflow by keyboard alone, and a contact goes through it', async () => {
  await template('Welcome');
  await template('Reminder', 'MARKETING');
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await page.keyboard.press('n');
  await page.keyboard.press('w');
  await page.getByLabel('Name').waitFor();
  await page.keyboard.type('Onboarding');
  await page.keyboard.press('Tab');
  await page.keyboard.type('signed_up');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Onboarding' }).waitFor();
  await step(page, 'Trigger: signed_up').focus();

  // a wait of a minute, which the event ends before
  await addByKey(page, 'Wait for');
  await page.keyboard.type('activated');
  await page.keyboard.press('Enter');
  await focused(page, 'Wait for an event');
  // its first open end is that of the event
  await addByKey(page, 'Condition');
  await page.getByRole('combobox', { name: 'Field' }).focus();
  await page.keyboard.type('event.plan');
  await page.getByLabel('Value', { exact: true }).focus();
  await page.keyboard.type('pro');
  await page.keyboard.press('Enter');
  await focused(page, 'Condition');
  // a mail on the branch yes
  await addByKey(page, 'Send');
  await page.keyboard.type('Welc');
  await page.getByRole('option', { name: /Welcome/ }).waitFor();
  await page.keyboard.press('Enter');
  await chosen(page, 'Welcome');
  await page.keyboard.press('Enter');
  await focused(page, 'Send a mail');
  // back to the condition, and a mail on the branch no
  await page.keyboard.press('ArrowUp');
  await focused(page, 'Condition');
  await addByKey(page, 'Send');
  await page.keyboard.type('Remi');
  await page.getByRole('option', { name: /Reminder/ }).waitFor();
  await page.keyboard.press('Enter');
  await chosen(page, 'Reminder');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('[data-step]').length === 5);
  await owner.accessible('the editor');
  await page.getByText('Nothing to fix').waitFor();
  await page.getByRole('button', { name: 'Enable' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('version 1').waitFor();

  await service.api('POST', '/v1/track', { body: { email: 'ada@example.org', event: 'signed_up', data: { name: 'Ada' } } });
  await page.getByRole('link', { name: 'Executions' }).click();
  await page.getByRole('row', { name: 'ada@example.org, Waiting' }).waitFor();
  await service.api('POST', '/v1/track', { body: { email: 'ada@example.org', event: 'activated', data: { plan: 'pro' } } });
  await page.getByRole('row', { name: 'ada@example.org, Completed' }).waitFor();
  await page.getByRole('row', { name: 'ada@example.org, Completed' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Execution of ada@example.org' }).waitFor();
  const log = page.getByRole('list', { name: 'Steps taken' });
  await log.getByText('Send a mail').waitFor();
  assert.equal(await log.getByRole('listitem').count(), 4);
  await page.getByRole('group', { name: 'Path' }).getByRole('button', { name: /^Condition.*done/ }).waitFor();
  const mails = await service.api('GET', '/mailbox');
  assert.deepEqual(mails.data.map((mail: { to: string; subject: string }) => [mail.to, mail.subject]), [['ada@example.org', 'TRANSACTIONAL: Ada']]);
  await page.getByRole('link', { name: /Why it began/ }).click();
  await page.getByRole('link', { name: 'Began by signed_up' }).waitFor();
  await owner.close();
});

/** A workflow: trigger, first delay, second delay, end. Gives its id. */
async function chain(name: string): Promise<string> {
  const { id } = await service.api('POST', '/workflows', { body: { name, eventName: 'begun' } });
  const add = (type: string, title: string, config: object) =>
    service.api('POST', `/workflows/${id}/steps`, { body: { type, name: title, config, position: { x: 0, y: 0 } } });
  await add('DELAY', 'First', { amount: 1, unit: 'hours' });
  await add('DELAY', 'Second', { amount: 2, unit: 'hours' });
  await add('EXIT', 'End', {});
  return id;
}

/** How the steps of a workflow follow each other. */
async function order(id: string): Promise<string[]> {
  const { steps, transitions } = await service.api('GET', `/workflows/${id}`);
  const next = new Map<string, string>(transitions.map((way: { fromStepId: string; toStepId: string }) => [way.fromStepId, way.toStepId]));
  const names: string[] = [];
  for (let at: string | undefined = steps[0].id; at; at = next.get(at)) {
    names.push(steps.find((one: { id: string }) => one.id === at).name);
  }
  return names;
}

test('steps are inserted, spliced out and removed, and all of it is undone', async () => {
  const id = await chain('Chain');
  const owner = await opened(id);
  const { page } = owner;
  await page.getByRole('button', { name: 'Insert a step before Second' }).click();
  await page.getByRole('option', { name: /^Wait until/ }).click();
  await page.getByText('Comes between First and Second.').waitFor();
  await page.getByLabel('Name').fill('Office hours');
  await page.getByRole('button', { name: 'Add the step' }).click();
  await focused(page, 'Office hours');
  assert.deepEqual(await order(id), ['Trigger: begun', 'First', 'Office hours', 'Second', 'End']);

  // spliced out by keyboard
  await page.keyboard.press('ArrowUp');
  await focused(page, 'First');
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Remove only this step' }).click();
  await focused(page, 'Trigger');
  assert.deepEqual(await order(id), ['Trigger: begun', 'Office hours', 'Second', 'End']);
  // removed with all that follows
  await step(page, 'Office hours').focus();
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Remove all 3 steps' }).click();
  await focused(page, 'Trigger');
  assert.deepEqual(await order(id), ['Trigger: begun']);

  for (const [index, expected] of [
    ['Trigger: begun', 'Office hours', 'Second', 'End'],
    ['Trigger: begun', 'First', 'Office hours', 'Second', 'End'],
    ['Trigger: begun', 'First', 'Second', 'End'],
  ].entries()) {
    await page.keyboard.press('Control+z');
    await service.until('it is undone', async () => (await order(id)).join() === expected.join());
    // the next one is possible when this one is shown
    await page.getByRole('button', { name: /^Redo/, disabled: false }).waitFor();
    if (index < 2) await page.getByRole('button', { name: /^Undo \(/, disabled: false }).waitFor();
  }
  assert.ok(await page.getByRole('button', { name: /^Undo \(/ }).isDisabled());
  await page.keyboard.press('Control+Shift+z');
  await service.until('it is done again', async () => (await order(id)).length === 5);

  // an edit, with what is wrong said as one types
  await page.getByRole('button', { name: /^Redo/, disabled: false }).waitFor();
  await step(page, 'Second').click();
  await page.getByLabel('Amount').fill('0');
  await page.getByText('Must be greater than 0.').waitFor();
  await page.getByLabel('Amount').fill('3');
  await page.getByRole('button', { name: 'Save' }).click();
  await step(page, 'Second, Delay, 3 hours').waitFor();
  await page.keyboard.press('Control+z');
  await step(page, 'Second, Delay, 2 hours').waitFor();

  // what is not saved is not lost without a question
  await step(page, 'Second').click();
  await page.getByLabel('Amount').fill('9');
  await page.keyboard.press('Escape');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click();
  await step(page, 'Second, Delay, 2 hours').waitFor();
  await owner.close();
});

test('undo beside what was said undoes that, or nothing', async () => {
  const id = await chain('Said');
  const owner = await opened(id);
  const { page } = owner;
  const undo = page.getByRole('button', { name: 'Undo', exact: true });
  for (const [index, name] of ['End', 'Second'].entries()) {
    await step(page, name).focus();
    await page.keyboard.press('Delete');
    await undo.nth(index).waitFor();
  }
  await undo.first().click();
  await page.getByText('It is not the last change any more.').waitFor();
  assert.deepEqual(await order(id), ['Trigger: begun', 'First']);
  await undo.click();
  await service.until('the last change is undone', async () => (await order(id)).join() === 'Trigger: begun,First,Second');
  await owner.close();
});

test('a step is added at an open end by mouse', async () => {
  const { id } = await service.api('POST', '/workflows', { body: { name: 'By mouse', eventName: 'begun' } });
  const owner = await opened(id);
  const { page } = owner;
  await page.getByRole('group', { name: 'Steps as a graph' }).getByRole('button', { name: /^Add a step after / }).click();
  await page.getByRole('option', { name: /^Delay/ }).click();
  await page.getByRole('button', { name: 'Add the step' }).click();
  await service.until('the step is there', async () => (await service.api('GET', `/workflows/${id}`)).steps.length === 2);
  await owner.close();
});

test('a step is dragged to a place that is kept, and tidied up again', async () => {
  const id = await chain('Places');
  const owner = await opened(id);
  const { page } = owner;
  const second = step(page, 'Second');
  const box = (await second.boundingBox()) ?? assert.fail('it is not shown');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y + 10, { steps: 4 });
  await page.mouse.move(x + 150, y + 30, { steps: 4 });
  const picture = page.locator('.drag-picture > .react-flow__node');
  assert.equal(await picture.count(), 2, 'what follows is dragged along');
  const lies = await picture.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
  assert.ok(lies.every((left) => left > box.x + 100), 'under the mouse');
  await page.mouse.up();
  await picture.first().waitFor({ state: 'detached' });
  const place = async (name: string) => {
    const { steps } = await service.api('GET', `/workflows/${id}`);
    return steps.find((one: { name: string }) => one.name === name).position;
  };
  await service.until('its place is kept', async () => (await place('Second')).x !== 0);
  assert.deepEqual(await place('End'), { x: 0, y: 0 }, 'what follows needs no place of its own');
  const moved = (await step(page, 'End').boundingBox()) ?? assert.fail('it is not shown');
  assert.ok(moved.x > box.x + 100, 'what follows moves along');
  await page.getByRole('button', { name: /^Undo \(/ }).click();
  await service.until('it is back', async () => (await place('Second')).x === 0);
  await owner.close();
});

test('from afar a workflow is a drawing, in which steps are dragged as well', async () => {
  const id = await chain('From afar');
  const owner = await opened(id);
  const { page } = owner;
  const second = step(page, 'Second');
  await second.waitFor();
  const ways = page.locator('.react-flow__edge');
  const count = await ways.count();
  assert.ok(count > 2, 'ways to steps, and one to the open end');
  const zoom = async (key: string, until: string) => {
    await second.focus();
    for (let turn = 0; turn < 8; turn += 1) await page.keyboard.press(key);
    await page.locator(until).first().waitFor({ state: 'attached' });
  };
  const lines = async () => (await page.locator('.far-ways path').evaluateAll((all) => all.map((one) => one.getAttribute('d')))).join('');
  await zoom('-', '[data-step]:empty');
  assert.equal(await ways.count(), 0);
  const drawn = await lines();
  assert.equal(drawn.split('M').length - 1, count, 'all ways are in the drawing');
  await owner.accessible('a workflow from afar');
  const box = (await second.boundingBox()) ?? assert.fail('it is not shown');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 40, y, { steps: 4 });
  await page.mouse.move(x + 80, y, { steps: 4 });
  assert.equal(await page.locator('.drag-picture .drag-nodes').count(), 1, 'outlines are dragged');
  await page.mouse.up();
  await page.locator('.drag-picture').waitFor({ state: 'detached' });
  const moved = (await second.boundingBox()) ?? assert.fail('it is not shown');
  // the first move only tells that it is a drag
  assert.ok(Math.abs(moved.x - box.x - 70) < 3, `the step is where it was dropped: moved by ${moved.x - box.x}`);
  await page.waitForFunction((old) => [...document.querySelectorAll('.far-ways path')].map((one) => one.getAttribute('d')).join('') !== old, drawn);
  assert.equal((await lines()).split('M').length - 1, count, 'ways lead to where it is');
  await zoom('+', '[data-step]:not(:empty)');
  await page.waitForFunction(() => document.querySelectorAll('.react-flow__edge').length > 0);
  assert.equal(await page.locator('.far-ways').count(), 0);
  await owner.close();
});

test('a workflow is drawn where the worker that lays it out cannot be loaded', async () => {
  const id = await chain('Without a worker');
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/layout\.worker|ERR_FAILED/);
  let refused = 0;
  await page.route(/layout\.worker/, (route) => {
    refused += 1;
    return route.abort();
  });
  await owner.open(`workflows/${id}`);
  await step(page, 'Second').waitFor();
  assert.ok(refused > 0);
  await owner.close();
});

test('conditions are put together as in segments, with the data of the event', async () => {
  const id = await chain('Conditions');
  await service.api('POST', '/v1/track', { body: { email: 'ada@example.org', event: 'begun', data: { total: 120 } } });
  const owner = await opened(id);
  const { page } = owner;
  await page.getByRole('button', { name: 'Insert a step before First' }).click();
  await page.getByRole('option', { name: /^Condition/ }).click();
  await page.getByLabel('Decide by').selectOption({ label: 'Conditions' });
  const conditions = page.getByRole('group', { name: 'Conditions' });
  await conditions.getByPlaceholder('Choose a field…').click();
  await page.getByRole('option', { name: 'Event’s total' }).click();
  await page.getByRole('button', { name: 'Add the step' }).click();
  await page.getByText('Fill in every condition.').waitFor();
  await conditions.getByRole('combobox', { name: /^Operator/ }).selectOption({ label: 'is there' });
  await owner.accessible('conditions of a step');
  await page.getByRole('button', { name: 'Add the step' }).click();
  await focused(page, 'Condition, By 1 condition');
  const { steps } = await service.api('GET', `/workflows/${id}`);
  const { config } = steps.find((one: { type: string }) => one.type === 'CONDITION');
  assert.deepEqual(config, { mode: 'filter', condition: { logic: 'AND', groups: [{ filters: [{ field: 'event.total', operator: 'exists' }] }] } });
  await owner.close();
});

test('the list of steps does what the canvas does, on a narrow page and with hostile names', async () => {
  const { id } = await service.api('POST', '/workflows', { body: { name: HOSTILE, eventName: HOSTILE } });
  const add = (type: string, config: object) =>
    service.api('POST', `/workflows/${id}/steps`, { body: { type, name: HOSTILE, config, position: { x: 0, y: 0 } } });
  await add('SEND_EMAIL', {});
  await add('RANDOM_SPLIT', { branches: [{ id: HOSTILE, name: HOSTILE, weight: 1 }, { id: 'b', weight: 3 }] });
  await service.api('POST', '/segments', { body: { name: HOSTILE, type: 'STATIC' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await page.setViewportSize({ width: 360, height: 740 });
  await owner.open('workflows');
  await page.getByRole('row', { name: HOSTILE }).waitFor();
  await page.getByRole('row', { name: HOSTILE }).click();
  const list = page.getByRole('list', { name: 'Steps' });
  await list.waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.getByRole('button', { name: '1 problem' }).click();
  await page.getByText('fails: it has no template.').waitFor();
  await list.getByRole('button', { name: `Add a step after ${HOSTILE}: ${HOSTILE}` }).click();
  await page.getByRole('option', { name: /^Add to a segment/ }).click();
  await page.getByRole('combobox', { name: 'Segment' }).click();
  await page.getByRole('option', { name: HOSTILE }).click();
  await owner.accessible('a new step');
  await page.getByRole('button', { name: 'Add the step' }).click();
  await list.getByRole('button', { name: /^Add to a segment/ }).waitFor();
  await list.getByRole('button', { name: /Short|<img.*: b 3/ }).first().click();
  await page.getByRole('heading', { level: 2, name: HOSTILE }).waitFor();
  await owner.accessible('a step');
  await owner.close();
});

test('the editor speaks German', async () => {
  const id = await chain('Kette');
  const owner = await Visitor.of(service, { language: 'de-DE' });
  const { page } = owner;
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).waitFor();
  await owner.open(`workflows/${id}`);
  await page.getByRole('group', { name: 'Schritte als Graph' }).getByRole('button', { name: /^First, Pause, 1 Stunde/ }).click();
  await page.getByRole('heading', { level: 2, name: 'First' }).waitFor();
  await owner.accessible('the editor in German');
  await owner.close();
});
