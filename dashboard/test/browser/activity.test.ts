import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { HOSTILE, open, send } from './insight.ts';
import { Service } from './service.ts';

let service: Service;

before(async () => {
  service = await Service.start({ MAILWRIGHT_TRACKING_SETTLE_MS: '0' });
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('the feed shows what happens as it happens, and leads to what it is about', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('activity');
  await page.getByText('Live', { exact: true }).waitFor();
  const id = await send(service, 'ada@example.org', `Order ${HOSTILE}`);
  // what is new waits until somebody asks for it
  await page.getByRole('button', { name: /Show \d+ new entr/ }).click();
  const feed = page.getByRole('region', { name: 'What happened' });
  const sent = feed.getByRole('listitem').filter({ hasText: 'was sent to ada@example.org' });
  await sent.waitFor();
  assert.match((await sent.textContent()) ?? '', /Order <img src=x onerror=alert\(1\)>/);
  await open(service, id);
  await page.getByRole('button', { name: 'Show 1 new entry' }).click();
  await feed.getByRole('listitem').filter({ hasText: 'ada@example.org opened Order' }).waitFor();
  await sent.getByRole('link', { name: /^Order/ }).click();
  await page.waitForURL(new RegExp(`/emails/${id}`));
  await page.getByText('A person opened it.').waitFor();
  await owner.close();
});

test('more entries than are caught up with, from while nobody listened, are all in the feed', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  let listen = () => {};
  const all = new Promise<void>((resolve) => {
    listen = resolve;
  });
  await page.route('**/activity/stream*', async (route) => {
    await all;
    await route.continue();
  });
  await owner.open('activity?types=event.triggered');
  await page.getByText('Nothing of this kind').waitFor();
  for (let index = 0; index < 25; index += 1) {
    await service.api('POST', '/v1/track', { key: service.project.public, body: { email: 'many@example.org', event: `step${index}` } });
  }
  listen();
  await page.getByRole('button', { name: 'Show 20 new entries' }).click();
  const feed = page.getByRole('region', { name: 'What happened' });
  await feed.getByText('step0', { exact: true }).waitFor();
  assert.equal(await feed.getByText(/^step\d+$/).count(), 25);
  await page.unroute('**/activity/stream*');
  await owner.close();
});

test('filters are in the address: areas, one contact, a period', async () => {
  await service.api('POST', '/v1/track', {
    key: service.project.public,
    body: { email: 'grace@example.org', event: `odd ${HOSTILE}`, data: { note: HOSTILE } },
  });
  await service.api('POST', '/v1/track', { key: service.project.public, body: { email: 'alan@example.org', event: 'signup' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('activity');
  const feed = page.getByRole('region', { name: 'What happened' });
  await page.getByRole('button', { name: 'Events', exact: true }).click();
  await page.waitForURL(/types=event\.triggered/);
  await feed.getByText('alan@example.org').waitFor();
  const odd = feed.getByRole('listitem').filter({ hasText: 'grace@example.org did' });
  await odd.getByRole('button', { name: 'Show only entries like this one' }).click();
  await page.getByRole('menuitem', { name: 'Only this contact' }).click();
  await page.waitForURL(/contact=[0-9a-f-]{36}/);
  await page.getByRole('button', { name: 'Remove the filter Contact: grace@example.org' }).waitFor();
  await feed.getByText('grace@example.org').first().waitFor();
  assert.equal(await feed.getByText('alan@example.org').count(), 0);
  // another visit to the same address shows the same
  await page.reload();
  await page.getByRole('button', { name: 'Remove the filter Contact: grace@example.org' }).click();
  await feed.getByText('alan@example.org').waitFor();
  await page.getByLabel('Find a contact by its address').fill('grace@example.org');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Remove the filter Contact: grace@example.org' }).waitFor();
  await page.getByLabel('Period', { exact: true }).selectOption('Last month');
  await page.getByText('Nothing of this kind').waitFor();
  await page.getByText('Not live: the period is over.').waitFor();
  await page.getByRole('button', { name: 'Remove all filters' }).last().click();
  await feed.getByText('alan@example.org').first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get('contact'), null);
  await owner.close();
});

test('a test goes to an address that is no contact, and the feed says which', async () => {
  const body = { name: 'News', subject: 'Tried', body: '<p>News</p>', from: 'shop@acme.test', type: 'MARKETING', audienceType: 'ALL' };
  const { data: campaign } = await service.api('POST', '/campaigns', { body });
  await service.api('POST', `/campaigns/${campaign.id}/test`, { body: { email: service.owner.email } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('activity');
  const feed = page.getByRole('region', { name: 'What happened' });
  await feed.getByRole('listitem').filter({ hasText: `Tried was sent to ${service.owner.email}` }).waitFor();
  await owner.close();
});
