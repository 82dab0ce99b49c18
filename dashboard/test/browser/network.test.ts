import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

const ANY_API = /^https?:\/\/[^/]+\/(?!app\/)/;
const STREAM = '**/activity/stream*';

let service: Service;

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('a write whose answer is lost is told as one that may have been done, and is there', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts');
  await page.getByText('No contacts yet').waitFor();
  owner.expectFault(/504 \(Gateway Timeout\)/);
  // a proxy that gives up while the service does what it was asked
  await page.route(ANY_API, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await route.fetch();
    return route.fulfill({ status: 504, contentType: 'text/html', body: '<h1>Gateway Timeout</h1>' });
  });
  await page.keyboard.press('n');
  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog', { name: 'Add contact' });
  await dialog.waitFor();
  await page.keyboard.type('ada@example.org');
  await page.keyboard.press('Enter');
  await dialog.getByText(/^No answer came, so it may have been done or not\./).waitFor();
  await page.unroute(ANY_API);
  await page.keyboard.press('Escape');
  await page.getByText('ada@example.org').first().waitFor();
  await owner.close();
});

test('a service that is gone is told, and what could not be read comes by itself when it is back', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/ERR_CONNECTION_REFUSED/);
  await page.route(ANY_API, (route) => route.abort('connectionrefused'));
  await page.getByRole('navigation').getByRole('link', { name: 'Segments' }).click();
  const lost = page.getByText(/^The service gives no answer\./);
  await lost.waitFor();
  await page.getByRole('alert').getByText(/^The service cannot be reached\./).first().waitFor();
  await owner.accessible('without the service');
  await page.unroute(ANY_API);
  await lost.waitFor({ state: 'detached' });
  await page.getByText('No segments yet').waitFor();
  await owner.close();
});

test('what only asks by POST is no write: it rests when it gets no answer, and is not asked again and again', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value: 'example.org' }] }] };
  await owner.open(`contacts?filter=${encodeURIComponent(JSON.stringify(condition))}`);
  await page.getByText('ada@example.org').first().waitFor();
  owner.expectFault(/ERR_CONNECTION_REFUSED/);
  let searched = 0;
  await page.route(ANY_API, (route) => {
    if (route.request().url().includes('/contacts/search')) searched += 1;
    return route.abort('connectionrefused');
  });
  // a write without an answer has everything read again
  await page.keyboard.press('n');
  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog', { name: 'Add contact' });
  await dialog.waitFor();
  await page.keyboard.type('grace@example.org');
  await page.keyboard.press('Enter');
  await dialog.getByText(/^No answer came, so it may have been done or not\./).waitFor();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  assert.ok(searched >= 1 && searched <= 4, `${searched} searches in three seconds`);
  await page.unroute(ANY_API);
  await owner.close();
});

test('a stream that ends at once is opened again after a pause, and none is open while nobody sees the page', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  let [asked, given] = [0, 0];
  await page.route(STREAM, (route) => {
    asked += 1;
    return route.fulfill({ status: 200, contentType: 'text/event-stream', body: '' });
  });
  await owner.open('activity');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  assert.ok(asked >= 2 && asked <= 5, `${asked} requests in five seconds`);
  await page.unroute(STREAM);

  const opened = page.waitForResponse((response) => response.url().includes('/activity/stream'));
  await owner.open('activity');
  await opened;
  page.on('requestfailed', (request) => {
    if (request.url().includes('/activity/stream')) given += 1;
  });
  const show = (hidden: boolean) =>
    page.evaluate((is) => {
      Object.defineProperty(document, 'hidden', { value: is, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await show(true);
  await service.until('the stream is given back', async () => given === 1);
  const again = page.waitForResponse((response) => response.url().includes('/activity/stream'));
  await show(false);
  await again;
  await owner.close();
});

test('the page of a network that wants to be signed in to is no answer: the write may have been done, and is there', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('segments');
  await page.getByText('No segments yet').waitFor();
  await owner.open('contacts');
  await page.getByText('ada@example.org').first().waitFor();
  await page.route(ANY_API, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await route.fetch();
    return route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>WiFi</h1>' });
  });
  await page.keyboard.press('n');
  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog', { name: 'Add contact' });
  await dialog.waitFor();
  await page.keyboard.type('mary@example.org');
  await page.keyboard.press('Enter');
  await dialog.getByText(/^No answer came, so it may have been done or not\./).waitFor();
  await page.unroute(ANY_API);
  await page.keyboard.press('Escape');
  await page.getByText('mary@example.org').first().waitFor();
  await owner.close();
});
