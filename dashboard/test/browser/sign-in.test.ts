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

test('somebody signs up, creates a project, signs out and in again', async () => {
  const ada = await Visitor.of(service);
  const { page } = ada;
  await page.goto('');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('E-mail address').fill('ada@example.org');
  await page.getByLabel('Password', { exact: true }).fill('short');
  // whether somebody is signed in is asked first
  ada.expectFault(/422|401.*users\/@me/);
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByText(/at least 8/i).nth(1).waitFor();
  assert.equal(await page.getByLabel('Password', { exact: true }).getAttribute('aria-invalid'), 'true');
  await ada.accessible('signing up, refused');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByRole('heading', { name: 'Create a project' }).waitFor();
  await page.getByLabel('Name').fill('Rockets');
  await page.getByRole('button', { name: 'Create a project' }).click();
  await page.getByRole('button', { name: 'Switch project: Rockets' }).waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await ada.accessible('the frame');
  await page.getByRole('button', { name: /Your account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await ada.signIn({ email: 'ada@example.org', password: 'correct horse battery' });
  await ada.close();
});

test('an address that names the project of others, or none, opens a project of one’s own and shows nothing of theirs', async () => {
  const { id } = await service.api('POST', '/contacts', { body: { email: 'theirs@example.org' } });
  const ada = await Visitor.of(service);
  const { page } = ada;
  await ada.signIn({ email: 'ada@example.org', password: 'correct horse battery' });
  ada.expectFault(/403|404/);
  for (const named of [service.project.id, '%0A', '../..', '0'.repeat(36), '']) {
    await ada.open(`contacts/${id}?p=${named}`);
    await page.getByRole('button', { name: 'Switch project: Rockets' }).waitFor();
    await page.getByRole('alert').first().waitFor();
    assert.doesNotMatch(page.url(), new RegExp(`p=(${service.project.id}|%0A|\\.|0{36}|$)`));
    assert.equal(await page.getByText('theirs@example.org').count(), 0);
  }
  await ada.close();
});

test('something to be done without a session leads to signing in', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  const { id } = await service.api('POST', '/workflows', { body: { name: 'Welcome', eventName: 'begun' } });
  await owner.signIn(service.owner);
  await owner.open('workflows');
  await page.getByRole('button', { name: 'Actions for Welcome' }).click();
  await page.getByRole('menuitem', { name: 'Enable' }).waitFor();
  await owner.context.clearCookies();
  owner.expectFault(/401/);
  await page.getByRole('menuitem', { name: 'Enable' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  assert.match(page.url(), /next=/);
  await service.api('DELETE', `/workflows/${id}`);
  await owner.close();
});

test('the palette goes places, and shortcuts work', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await page.keyboard.press('Control+k');
  // the field has the focus: whoever types finds
  await page.getByPlaceholder('Go to, create, find…').waitFor();
  await page.keyboard.type('analy');
  await owner.accessible('the palette');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/app\/analytics\?p=/);
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.waitForURL(/\/app\/contacts\?p=/);
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
  const lists = page.getByRole('region', { name: 'In lists' });
  for (const key of ['Page Up, Page Down', 'Home, End', 'Shift', 'Ctrl/⌘ A', 'X']) await lists.getByText(key, { exact: true }).waitFor();
  assert.equal(await page.getByRole('region', { name: 'Keys on the canvas' }).count(), 0);
  await owner.accessible('the shortcuts');
  await page.keyboard.press('Escape');
  await lists.waitFor({ state: 'detached' });
  // J leads into the one list of a page, from nowhere
  await service.api('POST', '/contacts', { body: { email: 'ada@example.org' } });
  await service.api('POST', '/contacts', { body: { email: 'grace@example.org' } });
  await owner.open('contacts');
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.tagName);
  const row = (index: number) => page.locator(`[aria-rowindex="${index + 2}"]`).getAttribute('aria-label');
  await page.getByRole('row', { name: 'ada@example.org' }).waitFor();
  await page.keyboard.press('j');
  assert.equal(await focused(), await row(0));
  await page.keyboard.press('j');
  assert.equal(await focused(), await row(1));
  const { id } = await service.api('POST', '/workflows', { body: { name: 'Welcome', eventName: 'signup' } });
  await owner.open(`workflows/${id}`);
  await page.keyboard.press('?');
  await page.getByRole('region', { name: 'Keys on the canvas' }).getByText('Add a step after it').waitFor();
  await page.keyboard.press('Escape');
  await owner.close();
});

test('a page whose code cannot be loaded says so, and is there when it can', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/404|dynamically imported module|Delivery/);
  await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }));
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  const alert = page.getByRole('alert').filter({ hasText: 'A part of the dashboard could not be loaded.' });
  await alert.waitFor();
  await page.unroute('**/assets/**');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Delivery' }).waitFor();

  // after an upgrade the page comes back by itself
  await page.route('**/assets/**', (route) => route.fulfill({ status: 404 }));
  await page.route('**/app/', async (route) => {
    await page.unroute('**/assets/**');
    await route.fulfill({ contentType: 'text/html', body: '<script type="module" src="./assets/index-Newer000.js"></script>' });
  });
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('heading', { level: 1, name: 'Request log' }).waitFor();
  await owner.close();
});
