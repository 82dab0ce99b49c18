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

const MAIL = { subject: 'News', from: 'hello@acme.test', body: '<p>Hello</p>' };
const tab = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name, exact: true });
const overtaken = (page: Page) => page.getByText('This was changed elsewhere meanwhile.');

/** Clicks something that asks, and says no. */
async function refused(page: Page, click: () => Promise<void>): Promise<void> {
  const asked = page.waitForEvent('dialog');
  const clicked = click();
  await (await asked).dismiss();
  await clicked;
}

test('the settings of a template are kept beside its mail, and its topic while topics cannot be read', async () => {
  const topic = await service.api('POST', '/topics', { body: { name: 'Offers' } });
  const body = { ...MAIL, name: 'Offers', type: 'MARKETING', topicId: topic.id };
  const { id } = await service.api('POST', '/templates', { body });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/500/);
  await page.route('**/topics', (route) => route.fulfill({ status: 500, headers: { 'x-request-id': 'told' }, json: {} }));
  await owner.open(`templates/${id}`);
  await page.getByLabel('Subject', { exact: true }).fill('Still being written');
  await tab(page, 'Settings').click();
  const sender = page.getByLabel('Name of the sender');
  await sender.fill('Acme');
  await refused(page, () => tab(page, 'Write').click());
  assert.equal(await sender.inputValue(), 'Acme');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The settings were saved.').waitFor();
  const stored = await service.api('GET', `/templates/${id}`);
  assert.deepEqual([stored.fromName, stored.topicId, stored.subject], ['Acme', topic.id, 'News']);

  // one's own settings are nobody else's version
  await tab(page, 'Write').click();
  assert.equal(await page.getByLabel('Subject', { exact: true }).inputValue(), 'Still being written');
  assert.equal(await page.getByText('Somebody saved another version').count(), 0);
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
  await page.unroute('**/topics');
  await owner.close();
});

test('the settings of a campaign are not left for another part without a question', async () => {
  const { id } = (await service.api('POST', '/campaigns', { body: { ...MAIL, name: 'Spring', audienceType: 'ALL' } })).data;
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`campaigns/${id}?tab=settings`);
  const sender = page.getByLabel('Sender’s address');
  await sender.fill('other@acme.test');
  await refused(page, () => tab(page, 'Audience').click());
  assert.equal(await sender.inputValue(), 'other@acme.test');
  const asked = page.waitForEvent('dialog');
  const clicked = tab(page, 'Audience').click();
  await (await asked).accept();
  await clicked;
  await sender.waitFor({ state: 'detached' });
  // nothing is unsaved any more
  await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: 'Contacts' }).click();
  await page.waitForURL(/\/contacts/);
  await owner.close();
});

test('a condition that is being changed stays when a colleague saves another one', async () => {
  const rule = (value: string) => ({ logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value }] }] });
  const { id } = await service.api('POST', '/segments', { body: { name: 'Example', type: 'DYNAMIC', condition: rule('example') } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`segments/${id}?tab=condition`);
  const value = page.getByLabel('Value: Address', { exact: true });
  await value.fill('mine');
  await service.api('PATCH', `/segments/${id}`, { body: { condition: rule('theirs') } });
  await page.getByRole('button', { name: 'Recount' }).click();
  await overtaken(page).waitFor();
  assert.equal(await value.inputValue(), 'mine');
  await page.getByText('Counting…').waitFor({ state: 'detached' });
  await owner.accessible('a condition that was changed elsewhere');
  await page.getByRole('button', { name: 'Discard mine and show theirs' }).click();
  await overtaken(page).waitFor({ state: 'detached' });
  assert.equal(await value.inputValue(), 'theirs');

  await value.fill('saved');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  assert.equal(await overtaken(page).count(), 0);
  await tab(page, 'Settings').click();
  await page.getByLabel('Name', { exact: true }).fill('Another name');
  await refused(page, () => tab(page, 'Members').click());
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Another name');
  await owner.close();
});

test('a step that is being changed stays when a colleague saves it, and the undo of a toast while somebody points at it', async () => {
  const { id } = await service.api('POST', '/workflows', { body: { name: 'Hello', eventName: 'begun' } });
  const step = await service.api('POST', `/workflows/${id}/steps`, {
    body: { type: 'DELAY', name: 'Pause', config: { amount: 1, unit: 'hours' }, position: { x: 0, y: 0 } },
  });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`workflows/${id}?step=${step.id}`);
  const amount = page.getByLabel('Amount');
  await amount.fill('9');
  await service.api('PATCH', `/workflows/${id}/steps/${step.id}`, { body: { config: { amount: 5, unit: 'hours' } } });
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await overtaken(page).waitFor();
  assert.equal(await amount.inputValue(), '9');
  const undo = page.getByRole('button', { name: 'Undo', exact: true });
  await undo.hover();
  await page.waitForTimeout(6_000);
  assert.equal(await undo.count(), 1);
  await page.getByRole('button', { name: 'Discard mine and show theirs' }).click();
  await overtaken(page).waitFor({ state: 'detached' });
  assert.equal(await amount.inputValue(), '5');
  await undo.waitFor({ state: 'detached' });

  // the fresh form is closed without a question
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await amount.waitFor({ state: 'detached' });
  await tab(page, 'Settings').click();
  await page.getByLabel('Name', { exact: true }).fill('Another name');
  await refused(page, () => tab(page, 'Executions').click());
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  await tab(page, 'Executions').click();
  await page.waitForURL(/tab=executions/);
  await owner.close();
});
