import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

const track = (email: string, event: string, data: object = {}) => service.api('POST', '/v1/track', { body: { email, event, data } });

/** An enabled workflow in which everybody waits for `activated`, and then gets a mail. */
async function waiting(name: string, event: string): Promise<{ id: string; mail: string }> {
  const body = { name: 'Hello', type: 'TRANSACTIONAL', from: 'hello@acme.test', subject: 'Hello', body: '<p>Hello</p>' };
  const template = await service.api('POST', '/templates', { body });
  const { id } = await service.api('POST', '/workflows', { body: { name, eventName: event } });
  const add = (type: string, title: string, config: object) =>
    service.api('POST', `/workflows/${id}/steps`, { body: { type, name: title, config, position: { x: 0, y: 0 } } });
  await add('WAIT_FOR_EVENT', 'Activated?', { eventName: 'activated', timeout: 259_200 });
  const mail = (await add('SEND_EMAIL', 'Hello', { templateId: template.id })).id;
  await service.api('PATCH', `/workflows/${id}`, { body: { enabled: true } });
  return { id, mail };
}

const isWaiting = (id: string, count: number) =>
  service.until(`${count} wait`, async () => (await service.api('GET', `/workflows/${id}/executions?status=WAITING`)).total === count);

test('a second version is published, and executions move to it', async () => {
  const { id } = await waiting('Versions', 'begun');
  await track('ada@example.org', 'begun');
  await track('grace@example.org', 'begun');
  await isWaiting(id, 2);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}`);
  await page.getByRole('button', { name: /^Activated\?.*2 waiting/ }).click();
  await page.getByLabel('Wait at most').fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/What you see is a draft/).waitFor();
  await page.getByRole('button', { name: 'Publish' }).click();
  const asked = page.getByRole('alertdialog');
  await asked.getByText('2 executions are under way.').waitFor();
  await owner.accessible('publishing');
  await asked.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('link', { name: '2 go on at Activated?' }).waitFor();
  await page.getByRole('button', { name: 'Move 2 executions' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Move 2 executions' }).click();
  await page.getByText('2 executions were moved, 0 stayed.').waitFor();
  assert.match(page.url(), /job=/, 'the job is in the address');
  const { data } = await service.api('GET', `/workflows/${id}/executions`);
  assert.deepEqual(data.map((one: { version: number }) => one.version), [2, 2]);
  await owner.close();
});

test('a rehearsal shows numbers, differences and what happens to one contact', async () => {
  const { id, mail } = await waiting('Joined', 'joined');
  for (const name of ['ada', 'grace', 'alan']) await track(`${name}@example.org`, 'joined');
  await isWaiting(id, 3);
  await track('ada@example.org', 'activated');
  await service.until('she is done', async () => (await service.api('GET', `/workflows/${id}/executions?status=COMPLETED`)).total === 1);
  await service.api('DELETE', `/workflows/${id}/steps/${mail}`);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}?tab=rehearsal`);
  await page.getByLabel('Compare with').selectOption({ label: 'Version 1' });
  await page.getByRole('button', { name: 'Rehearse' }).click();
  const table = page.getByRole('region', { name: 'By step' });
  await table.getByRole('row', { name: /Activated\?.* 3 2 1/ }).waitFor();
  // the mail that the draft does not have any more
  await table.getByRole('row', { name: /Hello.*\(−1\)/ }).waitFor();
  await page.getByText('−1 · version 1').waitFor();
  await page.getByRole('group', { name: 'Numbers over the graph' }).getByRole('button', { name: /^Activated\?.*Came: 3, Wait: 2/ }).waitFor();
  assert.match(page.url(), /compare=1/);
  assert.match(page.url(), /job=/);
  await owner.accessible('a rehearsal');
  await page.reload();
  await table.getByRole('row', { name: /Hello.*\(−1\)/ }).waitFor();

  await page.getByLabel('Rehearse with').selectOption({ label: 'One contact' });
  await page.getByLabel('Contact', { exact: true }).fill('ada@example.org');
  await page.getByRole('button', { name: 'Rehearse' }).click();
  await page.getByRole('list', { name: /^Execution from/ }).getByText('Activated?').waitFor();

  // of a contact whom nothing happened to yet there is nothing to play
  await service.api('POST', '/contacts', { body: { email: 'quiet@example.org' } });
  await page.getByLabel('Contact', { exact: true }).fill('quiet@example.org');
  await page.getByRole('button', { name: 'Rehearse' }).click();
  await page.getByText(/^A rehearsal plays the events that were recorded/).waitFor();
  await owner.accessible('a rehearsal of nothing');
  await page.getByRole('button', { name: 'Events that you give' }).click();
  assert.equal(await page.getByLabel('Rehearse with').inputValue(), 'events');
  await page.getByLabel('Events, one a line as JSON').fill('{"email": "new@example.org", "event": "joined", "at": "2030-01-01T09:00:00Z"}\nnothing');
  await page.getByRole('button', { name: 'Rehearse' }).click();
  await page.getByText('Line 2 is no JSON object.').waitFor();
  await page.getByLabel('Events, one a line as JSON').fill('{"email": "new@example.org", "event": "joined", "at": "2030-01-01T09:00:00Z"}');
  await page.getByRole('button', { name: 'Rehearse' }).click();
  await table.getByRole('row', { name: /Activated\?.*Timeout 1/ }).waitFor();
  await owner.close();
});

test('contacts are enrolled, one is started, and all are cancelled', async () => {
  const { id } = await waiting('Enrolled', 'nobody');
  const people = ['first@example.org', 'second@example.org', 'third@example.org'];
  for (const email of people) await service.api('POST', '/contacts', { body: { email } });
  const segment = await service.api('POST', '/segments', { body: { name: 'Two', type: 'STATIC' } });
  await service.api('POST', `/segments/${segment.id}/members`, { body: { emails: people.slice(0, 2) } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}?tab=executions`);
  await page.getByText('Nobody has gone through it yet').waitFor();
  await page.getByRole('button', { name: 'Enrol a segment' }).click();
  await page.getByRole('combobox', { name: 'Segment' }).fill('Tw');
  await page.getByRole('option', { name: 'Two' }).click();
  await page.getByLabel('Context (JSON)').fill('{"source": "test"}');
  await owner.accessible('enrolling');
  await page.getByRole('button', { name: 'Enrol', exact: true }).click();
  await page.getByText('2 contacts began, 0 did not').waitFor();

  await page.getByRole('button', { name: 'Start one' }).click();
  await page.getByRole('combobox', { name: 'Contact' }).fill('third');
  await page.getByRole('option', { name: 'third@example.org' }).click();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: 'Execution of third@example.org' }).waitFor();
  await page.getByRole('button', { name: 'All executions' }).click();
  await page.getByRole('row', { name: 'third@example.org, Waiting' }).waitFor();
  await page.getByRole('row', { name: 'first@example.org, Waiting' }).waitFor();

  await page.getByRole('button', { name: 'Cancel all' }).click();
  const asked = page.getByRole('alertdialog');
  assert.ok(await asked.getByRole('button', { name: 'Cancel all' }).isDisabled(), 'the name has to be typed');
  await asked.getByLabel(/Type/).fill('Enrolled');
  await asked.getByRole('button', { name: 'Cancel all' }).click();
  await page.getByText('3 executions were cancelled.').waitFor();
  await page.getByRole('row', { name: 'third@example.org, Cancelled' }).waitFor();
  await page.getByLabel('State').selectOption({ label: 'Waiting' });
  await page.getByText('No execution is in this state.').waitFor();

  // an event that starts nothing is explained
  await service.api('PATCH', `/workflows/${id}`, { body: { enabled: false } });
  await track('first@example.org', 'nobody');
  await page.getByRole('searchbox', { name: 'Contact' }).fill('first@example.org');
  await page.getByRole('button', { name: 'Look up' }).click();
  await page.getByText('nobody started nothing').waitFor();
  await page.getByText('The workflow was not enabled.').waitFor();
  await owner.accessible('why');
  await owner.open('activity?types=workflow.completed');
  await page.getByRole('listitem').filter({ hasText: 'third@example.org' }).getByText('cancelled').waitFor();
  await owner.close();
});

test('trigger, goal and name are set, and workflows are changed together', async () => {
  const { id } = await waiting('Before', 'first_event');
  const segment = await service.api('POST', '/segments', { body: { name: 'Everybody', type: 'STATIC' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}?tab=settings`);
  await page.getByLabel('Name').fill('After');
  await page.getByLabel('A contact may go through it more than once').check();
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'After' }).waitFor();

  await page.getByLabel('Started by').selectOption({ label: 'A schedule' });
  await page.getByRole('button', { name: 'Save' }).nth(1).click();
  owner.expectFault(/422/);
  await page.getByText(/segmentId/).or(page.getByText('Required')).first().waitFor();
  assert.equal(await page.getByRole('combobox', { name: 'Segment' }).getAttribute('aria-invalid'), 'true', 'it is said at its field');
  await page.getByRole('combobox', { name: 'Segment' }).fill('Every');
  await page.getByRole('option', { name: 'Everybody' }).click();
  await page.getByLabel('Start', { exact: true }).fill('2035-01-31T09:00');
  await page.getByLabel('Repeat').selectOption({ label: 'Every week' });
  await page.getByRole('checkbox', { name: 'Mon' }).check();
  await page.getByRole('button', { name: 'Save' }).nth(1).click();
  await service.until('it has a schedule', async () => (await service.api('GET', `/workflows/${id}`)).triggerType === 'SCHEDULE');
  const { triggerConfig } = await service.api('GET', `/workflows/${id}`);
  assert.deepEqual(triggerConfig, { segmentId: segment.id, start: '2035-01-31T09:00', repeat: 'weekly', days: ['MO'] });

  await page.getByLabel('Reached by').selectOption({ label: 'An event' });
  await page.getByRole('combobox', { name: 'An event' }).fill('bought');
  await page.getByRole('button', { name: 'Save' }).nth(2).click();
  await service.until('it has a goal', async () => (await service.api('GET', `/workflows/${id}`)).goal?.eventName === 'bought');

  await service.api('POST', '/workflows', { body: { name: 'Another', eventName: 'x' } });
  await page.getByRole('link', { name: 'Workflows' }).first().click();
  await page.getByRole('row', { name: 'After' }).waitFor();
  await page.getByRole('row', { name: 'After' }).getByRole('checkbox').click();
  await page.getByRole('row', { name: 'Another' }).getByRole('checkbox').click();
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByText('2 workflows were changed.').waitFor();
  await page.getByLabel('State').selectOption({ label: 'Disabled' });
  await page.getByRole('row', { name: 'After' }).waitFor();
  assert.match(page.url(), /status=disabled/);
  assert.equal(await page.getByText('2 selected').count(), 0, 'what may be out of sight is not selected');
  await page.getByRole('button', { name: 'Actions for Another' }).click();
  await page.getByRole('menuitem', { name: 'Duplicate' }).click();
  await page.getByText('A disabled copy was made.').waitFor();
  await page.getByRole('searchbox', { name: 'Search workflows' }).fill('Anoth');
  await page.getByRole('row', { name: /^Another/ }).nth(1).waitFor();
  await page.getByRole('searchbox', { name: 'Search workflows' }).fill('no such name');
  await page.getByText('No workflow matches.').waitFor();
  await owner.close();
});
