import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { type Person, Service } from './service.ts';

const ada: Person = { email: 'ada@example.org', password: 'correct horse battery' };

let service: Service;

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

/** The bytes of a text in Base32 (RFC 4648). */
function base32(text: string): Buffer {
  const bits = [...text].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** The code of an authenticator app (RFC 6238), `ahead` steps of 30 seconds from now. */
function codeOf(secret: string, ahead: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead));
  const tag = createHmac('sha1', base32(secret)).update(counter).digest();
  const at = (tag.at(-1) ?? 0) & 0xf;
  return String((tag.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Your account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

/** Types address and password, and then the code that is asked for. */
async function signInWith(page: Page, person: Person, code: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
}

test('the second factor is switched on, asked for, replaced by a recovery code, and switched off', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('account');
  await page.getByRole('button', { name: 'Set up' }).click();
  const dialog = page.getByRole('dialog', { name: 'Set up a second factor' });
  await dialog.getByLabel('Your password').fill('wrong horse battery');
  owner.expectFault(/401/);
  await dialog.getByRole('button', { name: 'Next' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Your password').fill(service.owner.password);
  await dialog.getByRole('button', { name: 'Next' }).click();
  await dialog.getByRole('img', { name: 'QR code of the second factor' }).waitFor();
  await owner.accessible('setting up a second factor');
  const secret = (await dialog.locator('code').first().textContent()) ?? '';
  await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret, 0));
  await dialog.getByRole('button', { name: 'Switch on' }).click();
  const once = page.getByRole('group', { name: 'Recovery codes' });
  await once.waitFor();
  const codes = ((await once.locator('code').textContent()) ?? '').split('\n');
  assert.equal(codes.length, 10);
  const download = page.waitForEvent('download');
  await once.getByRole('button', { name: 'Save as a file' }).click();
  assert.equal((await download).suggestedFilename(), 'mailwright-recovery-codes.txt');
  await page.getByText('10 recovery codes left').waitFor();
  await owner.accessible('the account');

  await signOut(page);
  // a code counts once, so the next one is that of the next half minute
  await signInWith(page, service.owner, codeOf(secret, 1));
  await signOut(page);
  await signInWith(page, service.owner, codes[0] ?? '');
  await owner.open('account');
  await page.getByText('9 recovery codes left').waitFor();

  await page.getByRole('button', { name: 'New recovery codes' }).click();
  const renew = page.getByRole('alertdialog');
  await renew.getByLabel('Your password').fill(service.owner.password);
  await renew.getByLabel('Code', { exact: true }).fill(codes[1] ?? '');
  await renew.getByRole('button', { name: 'New recovery codes' }).click();
  await once.waitFor();
  const fresh = ((await once.locator('code').textContent()) ?? '').split('\n');
  assert.equal(fresh.includes(codes[2] ?? ''), false);
  await page.getByRole('button', { name: 'Switch off' }).click();
  const off = page.getByRole('alertdialog');
  await off.getByLabel('Your password').fill(service.owner.password);
  await off.getByLabel('Code', { exact: true }).fill(fresh[0] ?? '');
  await off.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('The second factor is off.').waitFor();
  await page.getByRole('button', { name: 'Set up' }).waitFor();
  await owner.close();
});

test('name and password are changed, and another session is ended', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  const other = await Visitor.of(service);
  await owner.signIn(service.owner);
  await other.signIn(service.owner);
  await owner.open('account');
  await page.getByLabel('Your name').fill(`<img src=x onerror=alert(1)>"'{{x}}`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: `Your account: <img src=x onerror=alert(1)>"'{{x}}` }).waitFor();

  await page.getByRole('button', { name: /^End the session of Chrome/ }).first().click();
  await page.getByText('The session is ended.').waitFor();
  other.expectFault(/401/);
  await other.page.goto('contacts');
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.close();

  const form = page.getByRole('form', { name: 'Password' });
  await form.getByLabel('Your password').fill(service.owner.password);
  await form.getByLabel('New password').fill('short');
  owner.expectFault(/422/);
  await form.getByRole('button', { name: 'Change password' }).click();
  await page.getByText(/at least 8/i).nth(1).waitFor();
  assert.equal(await form.getByLabel('New password').getAttribute('aria-invalid'), 'true');
  service.owner.password = 'another horse battery';
  await form.getByLabel('New password').fill(service.owner.password);
  await form.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The password is changed, and other sessions are ended.').waitFor();

  await page.getByRole('switch', { name: 'Single-key shortcuts' }).click();
  await page.getByRole('heading', { name: 'Your account' }).click();
  await page.keyboard.press('?');
  assert.equal(await page.getByRole('heading', { name: 'Keyboard shortcuts' }).count(), 0);
  await page.getByLabel('Theme').selectOption('dark');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  // back to what the browser says, also when that changes
  await page.getByLabel('Theme').selectOption({ label: 'As the browser' });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await page.reload();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  assert.equal(await theme(), 'dark');
  assert.equal(await page.getByLabel('Theme').inputValue(), 'browser');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Dein Konto' }).waitFor();
  await owner.close();
});

test('whoever has no project deletes the account', async () => {
  const visitor = await Visitor.of(service);
  const { page } = visitor;
  await page.goto('auth/signup');
  await page.getByLabel('E-mail address').fill(ada.email);
  await page.getByLabel('Password', { exact: true }).fill(ada.password);
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByRole('link', { name: 'Your account' }).click();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  await visitor.accessible('the account of somebody without a project');
  await page.getByRole('button', { name: 'Delete account' }).click();
  const question = page.getByRole('alertdialog', { name: 'Delete your account?' });
  await question.getByLabel(`Type “${ada.email}” to confirm`).fill(ada.email);
  await question.getByRole('button', { name: 'Delete account' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await assert.rejects(service.cookie(ada), /INVALID_CREDENTIALS/);
  await visitor.close();
});

test('where the service sends no mail of its own, nothing says that one was sent', async () => {
  const visitor = await Visitor.of(service);
  const { page } = visitor;
  visitor.expectFault(/401/);
  await page.goto('auth/reset-password');
  await page.getByText(/sends no mail of its own, so there is no link/).waitFor();
  assert.equal(await page.getByLabel('E-mail address').count(), 0);
  await visitor.accessible('a password without mail');
  await page.goto('auth/signup');
  await page.getByLabel('E-mail address').fill('grace@example.org');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByRole('heading', { name: 'Create a project' }).waitFor();
  await page.getByLabel('Name').fill('Compilers');
  await page.getByRole('button', { name: 'Create a project' }).click();
  await page.getByRole('heading', { level: 1, name: 'Get started' }).waitFor();
  await visitor.open('account');
  assert.equal(await page.getByText(/mail that (we|was) sent/).count(), 0);
  await page.getByText(/This instance sends no mail of its own, so addresses stay unverified/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send me a link' }).count(), 0);
  await visitor.close();
});

test('who asks for a link hears that it was handed over, and has the focus there', async () => {
  const visitor = await Visitor.of(service);
  const { page } = visitor;
  // an instance that sends mail of its own
  await page.route('**/config', async (route) => {
    const response = await route.fetch();
    const found = await response.json();
    found.features.mail.own = true;
    await route.fulfill({ response, json: found });
  });
  await page.route('**/auth/request-password-reset', (route) => route.fulfill({ headers: { 'x-request-id': 'told' }, json: { success: true } }));
  await page.goto('auth/reset-password');
  await page.getByLabel('E-mail address').fill('grace@example.org');
  // it is there before it says something
  const said = page.getByRole('main').getByRole('status');
  assert.equal(await said.textContent(), '');
  await page.keyboard.press('Enter');
  await said.filter({ hasText: 'a link to it was handed over' }).and(page.locator(':focus')).waitFor();
  await page.unrouteAll();
  await visitor.close();
});
