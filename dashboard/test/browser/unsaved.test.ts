import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
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

const subject = (page: Page) => page.getByLabel('Subject', { exact: true });
const signedOut = (page: Page) => page.getByRole('status').filter({ hasText: 'Your session has ended.' });

/** Opens a template and writes a subject that is not saved. Returns the template's id. */
async function write(visitor: Visitor, words: string): Promise<string> {
  const body = { name: 'News', subject: 'News', from: 'hello@acme.test', type: 'TRANSACTIONAL', body: '<p>Hello</p>' };
  const { id } = await service.api('POST', '/templates', { body });
  await visitor.open(`templates/${id}`);
  await visitor.page.getByRole('textbox', { name: 'HTML of the mail' }).waitFor();
  await subject(visitor.page).fill(words);
  return id;
}

/** Comes back to the tab: the browser of the tests has every tab in sight. */
async function comeBack(page: Page): Promise<void> {
  await page.bringToFront();
  const seen = page.evaluate(() => {
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    dispatchEvent(new Event('focus'));
  });
  // a page that leaves for another one because of this has no answer left to give
  await seen.catch((error: unknown) => {
    if (!String(error).includes('Execution context was destroyed')) throw error;
  });
}

/** Fails on a question: nothing asks while the page stays. */
function unasked(page: Page): string[] {
  const questions: string[] = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.message());
    void dialog.dismiss();
  });
  return questions;
}

test('what is written stays when the session ends, and is saved once it is there again', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/401/);
  const id = await write(owner, 'Written for an hour');
  const questions = unasked(page);
  const other = await owner.context.newPage();
  await other.goto('account');
  await other.evaluate(() => fetch('/auth/logout'));
  await comeBack(page);
  await signedOut(page).waitFor();
  await owner.accessible('a page whose session has ended');
  assert.equal(await subject(page).inputValue(), 'Written for an hour');
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();

  // the link signs in in a tab of its own
  const opened = owner.context.waitForEvent('page');
  await signedOut(page).getByRole('link', { name: 'Sign in' }).click();
  const door = await opened;
  await door.getByLabel('E-mail address').fill(service.owner.email);
  await door.getByLabel('Password', { exact: true }).fill(service.owner.password);
  await door.getByRole('button', { name: 'Sign in' }).click();
  await door.getByRole('navigation', { name: 'Main navigation' }).waitFor();
  await comeBack(page);
  await page.getByText('Your session has ended.').waitFor({ state: 'detached' });
  assert.equal(await subject(page).inputValue(), 'Written for an hour');
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
  assert.equal((await service.api('GET', `/templates/${id}`)).subject, 'Written for an hour');
  assert.deepEqual(questions, []);

  // without anything unsaved the page makes way
  await other.evaluate(() => fetch('/auth/logout'));
  await comeBack(page);
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await owner.close();
});

test('who gives up what is not saved of a session that has ended comes to the page for signing in, once', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/401/);
  await write(owner, 'Given up');
  const other = await owner.context.newPage();
  await other.goto('account');
  await other.evaluate(() => fetch('/auth/logout'));
  await comeBack(page);
  await signedOut(page).waitFor();
  page.on('dialog', (dialog) => void dialog.accept());
  // what the next page asks for is refused before it is known who is there
  let asked = 0;
  await page.route('**/users/@me', async (route) => {
    await setTimeout(400);
    await route.continue();
    asked += 1;
  });
  await page.getByRole('link', { name: 'Contacts', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await service.until('it is known', async () => asked > 0);
  await page.getByLabel('E-mail address').fill(service.owner.email);
  await page.getByLabel('Password', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor();
  await owner.close();
});

test('nothing of somebody is shown once another person is signed in, not even what is not saved', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/40[134]/);
  await write(owner, 'Of the owner');
  const questions = unasked(page);
  const other = await owner.context.newPage();
  await other.goto('account');
  const { status } = await other.evaluate(async () => {
    await fetch('/auth/logout');
    const body = JSON.stringify({ email: 'bob@acme.test', password: 'correct horse battery' });
    return { status: (await fetch('/auth/signup', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status };
  });
  assert.ok(status < 300, `signing up answered ${status}`);
  await comeBack(page);
  await page.waitForURL(/projects\/create|auth\/verify-email/);
  assert.equal(await page.getByText('Acme').count(), 0);
  assert.deepEqual(questions, []);
  await owner.close();
});

test('the back button of the browser asks before it leaves what is not saved', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  const body = { name: 'Way back', subject: 'News', from: 'hello@acme.test', type: 'TRANSACTIONAL', body: '<p>Hello</p>' };
  const { id } = await service.api('POST', '/templates', { body });
  await owner.open('templates');
  await page.getByRole('link', { name: 'Way back' }).click();
  await page.getByRole('textbox', { name: 'HTML of the mail' }).waitFor();
  await subject(page).fill('Half a sentence');
  const editor = page.url();
  assert.match(editor, new RegExp(id));

  const asked = page.waitForEvent('dialog');
  await page.evaluate(() => history.back());
  await (await asked).dismiss();
  await page.waitForURL(editor);
  assert.equal(await subject(page).inputValue(), 'Half a sentence');
  // nothing was asked twice, and the way back is still there
  const again = page.waitForEvent('dialog');
  await page.evaluate(() => history.back());
  await (await again).accept();
  await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
  const questions = unasked(page);
  await page.goForward();
  await page.getByRole('textbox', { name: 'HTML of the mail' }).waitFor();
  assert.equal(await subject(page).inputValue(), 'News');
  assert.deepEqual(questions, []);
  await owner.close();
});

test('signing out asks before it ends the session, and not again', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  const id = await write(owner, 'Before signing out');
  const questions: string[] = [];
  const signOut = async (goesOn: boolean) => {
    page.once('dialog', (dialog) => {
      questions.push(dialog.type());
      void (goesOn ? dialog.accept() : dialog.dismiss());
    });
    await page.getByRole('button', { name: 'owner@acme.test' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  };
  await signOut(false);
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
  assert.equal((await service.api('GET', `/templates/${id}`)).subject, 'Before signing out');

  await subject(page).fill('Given up');
  await signOut(true);
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  assert.deepEqual(questions, ['confirm', 'confirm']);
  await owner.close();
});

test('a step that is being added stays when the session ends', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/401/);
  const { id } = await service.api('POST', '/workflows', { body: { name: 'Hello', eventName: 'begun' } });
  await owner.open(`workflows/${id}`);
  const questions = unasked(page);
  await page.getByRole('group', { name: 'Steps as a graph' }).getByRole('button', { name: /^Trigger/ }).focus();
  await page.keyboard.press('a');
  await page.getByPlaceholder('Find a kind of step…').waitFor();
  await page.keyboard.type('Delay');
  await page.locator('[cmdk-item][data-selected=true]').filter({ hasText: /Delay/i }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByLabel('Name').first().fill('A long pause');
  await page.evaluate(() => fetch('/auth/logout'));
  await page.getByRole('button', { name: 'Add the step' }).click();
  await signedOut(page).waitFor();
  assert.equal(await page.getByLabel('Name').first().inputValue(), 'A long pause');
  assert.deepEqual(questions, []);
  await owner.close();
});

const FAULTS = /404|502|dynamically imported module|error occurred/;
const preview = (page: Page) => page.frameLocator('iframe[title="Preview of the mail"][aria-hidden=false]').getByText('Hello');
const partMissing = (page: Page) => page.getByRole('alert').filter({ hasText: 'This part could not be loaded.' });

/** Answers as the service does after an upgrade: another entry, and none of the parts that this page knows. */
async function upgrade(page: Page, only: string): Promise<void> {
  await page.route(`**/assets/${only}`, (route) => route.fulfill({ status: 404 }));
  await page.route('**/app/', (route) =>
    route.request().resourceType() === 'fetch'
      ? route.fulfill({ contentType: 'text/html', body: '<script type="module" src="./assets/index-Newer000.js"></script>' })
      : route.continue(),
  );
}

test('a part that cannot be loaded is tried again, and says so in its place beside what is not saved', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(FAULTS);
  await write(owner, 'Still here');
  // what fails in passing is not noticed
  let failures = 0;
  await page.route('**/assets/PreviewPane*.js', (route) => (failures++ === 0 ? route.fulfill({ status: 502 }) : route.continue()));
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await preview(page).waitFor();
  assert.equal(failures, 2);
  assert.equal(await subject(page).inputValue(), 'Still here');
  page.once('dialog', (dialog) => void dialog.accept());
  await page.unroute('**/assets/PreviewPane*.js');

  await write(owner, 'Still here too');
  await page.route('**/assets/PreviewPane*', (route) => route.fulfill({ status: 502 }));
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await partMissing(page).waitFor();
  assert.equal(await subject(page).inputValue(), 'Still here too');
  await owner.accessible('a part that could not be loaded');
  await page.unroute('**/assets/PreviewPane*');
  await partMissing(page).getByRole('button', { name: 'Try again' }).click();
  await preview(page).waitFor();
  assert.equal(await subject(page).inputValue(), 'Still here too');

  // a menu is a button again, and its note offers to try again
  await page.route('**/assets/menu-body*', (route) => route.fulfill({ status: 502 }));
  const person = page.getByRole('button', { name: 'owner@acme.test' });
  await person.click();
  await partMissing(page).waitFor();
  await person.waitFor();
  await page.unroute('**/assets/menu-body*');
  await partMissing(page).getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  assert.equal(await subject(page).inputValue(), 'Still here too');
  await owner.close();
});

test('after an upgrade a page with something unsaved stays and says so; others are loaded anew, once', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(FAULTS);
  const id = await write(owner, 'Before the upgrade');
  let loads = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) loads += 1;
  });
  await upgrade(page, 'PreviewPane*');
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  const said = page.getByRole('status').filter({ hasText: 'The service was upgraded' });
  await said.waitFor();
  await partMissing(page).waitFor();
  assert.equal(loads, 0);
  assert.equal(await subject(page).inputValue(), 'Before the upgrade');
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
  await said.getByRole('button', { name: 'Load the page anew' }).click();
  await partMissing(page).waitFor();
  assert.equal(loads, 1);
  assert.equal((await service.api('GET', `/templates/${id}`)).subject, 'Before the upgrade');

  // the page was loaded anew a moment ago: once more would not help
  await page.waitForTimeout(3_000);
  assert.equal(loads, 1);
  // after a while it may
  await page.evaluate(() => sessionStorage.setItem('mailwright.reloaded', String(Date.now() - 61_000)));
  await partMissing(page).getByRole('button', { name: 'Try again' }).click();
  await page.waitForFunction(() => Date.now() - Number(sessionStorage.getItem('mailwright.reloaded')) < 60_000);
  await partMissing(page).waitFor();
  await page.waitForTimeout(3_000);
  assert.equal(loads, 2);
  await owner.close();
});
