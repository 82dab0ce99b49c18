import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, tabTo, Visitor } from './browser.ts';
import { type Person, Service } from './service.ts';

/** Markup, quotes and a variable: what must be shown as it is. */
const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;
const grace: Person = { email: 'grace@example.org', password: 'another horse battery' };

let service: Service;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailwright-settings-'));
  service = await Service.start({ MAILWRIGHT_DATA_DIR: folder });
});

after(async () => {
  await closeBrowser();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Makes every session an hour older, as if whoever has it had been away. */
function age(): void {
  const program = `import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=30) as database:
    database.execute("update sessions set created_at = created_at - 3600000")`;
  execFileSync('python3', ['-c', program, join(folder, 'mailwright.sqlite')]);
}

const settings = (tab: string) => `settings?tab=${tab}&p=${service.project.id}`;
const section = (page: Page, name: string) => page.locator('section').filter({ has: page.getByRole('heading', { name, level: 2 }) });

test('settings are saved by section, refused at their field, and kept', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(settings('general'));
  const project = page.getByRole('form', { name: 'Project' });
  await project.getByLabel('Name').fill('Acme <b>Rockets</b>');
  await project.getByLabel('Language').selectOption('pt');
  await project.getByLabel('Time zone').fill('Mars/Base');
  owner.expectFault(/422/);
  await project.getByRole('button', { name: 'Save' }).click();
  await project.getByText(/IANA database/).waitFor();
  assert.equal(await project.getByLabel('Time zone').getAttribute('aria-invalid'), 'true');
  await project.getByLabel('Time zone').fill('Europe/Berlin');
  await project.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“Project” is saved.').waitFor();
  await page.getByRole('button', { name: 'Switch project: Acme <b>Rockets</b>' }).waitFor();

  const sending = page.getByRole('form', { name: 'Sending' });
  await sending.getByLabel('Most mails a second').fill('25');
  await sending.getByLabel('Limit the marketing mails that a contact gets').check();
  await sending.getByLabel('Mails', { exact: true }).fill('2');
  await sending.getByLabel('in', { exact: true }).fill('3');
  await sending.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“Sending” is saved.').waitFor();

  const consent = page.getByRole('form', { name: 'Consent' });
  await consent.getByLabel('Ask new contacts to confirm (double opt-in)').check();
  await consent.getByRole('button', { name: 'Discard changes' }).click();
  assert.equal(await consent.getByLabel('Ask new contacts to confirm (double opt-in)').isChecked(), false);

  await page.reload();
  await project.waitFor();
  assert.equal(await project.getByLabel('Name').inputValue(), 'Acme <b>Rockets</b>');
  assert.equal(await project.getByLabel('Language').inputValue(), 'pt');
  assert.equal(await project.getByLabel('Time zone').inputValue(), 'Europe/Berlin');
  assert.equal(await sending.getByLabel('Most mails a second').inputValue(), '25');
  assert.equal(await sending.getByLabel('in', { exact: true }).inputValue(), '3');
  assert.equal(await sending.getByLabel('Unit').inputValue(), 'days');
  const cookie = await service.cookie();
  const [stored] = await service.api('GET', '/users/@me/projects', { cookie });
  assert.deepEqual(stored.marketingCap, { emails: 2, hours: 72 });

  // what is not saved is not left without a question
  await project.getByLabel('Name').fill('Something else');
  page.once('dialog', (dialog) => void dialog.dismiss());
  await page.getByRole('link', { name: 'Contacts' }).click();
  assert.match(page.url(), /\/settings/);
  page.once('dialog', (dialog) => void dialog.accept());
  await page.getByRole('link', { name: 'Contacts' }).click();
  await page.waitForURL(/\/contacts/);
  await owner.close();
});

test('a key is made with the keyboard alone, opens what its scopes say, and is revoked', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await tabTo(page, page.getByRole('link', { name: 'Keys', exact: true }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'New key' }));
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'New key' });
  await tabTo(page, dialog.getByLabel('Name'));
  await page.keyboard.type(HOSTILE);
  await tabTo(page, dialog.getByRole('checkbox', { name: 'Contacts' }));
  await page.keyboard.press('Space');
  await tabTo(page, dialog.getByRole('checkbox', { name: 'Send' }));
  await page.keyboard.press('Space');
  await owner.accessible('making a key');
  await tabTo(page, dialog.getByRole('button', { name: 'New key' }));
  await page.keyboard.press('Enter');
  const once = page.getByRole('group', { name: `The key “${HOSTILE}”` });
  await once.waitFor();
  const key = (await once.locator('code').textContent()) ?? '';
  assert.match(key, /^sk_/);
  await tabTo(page, once.getByRole('button', { name: 'Copy' }));
  await page.keyboard.press('Enter');
  await once.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);

  const contact = await service.api('POST', '/contacts', { key, body: { email: 'key@example.org' } });
  assert.equal(contact.email, 'key@example.org');
  await assert.rejects(service.api('GET', '/campaigns', { key }), /403/);

  const table = page.getByRole('region', { name: 'Secret keys' });
  await tabTo(page, table.getByRole('button', { name: `Revoke ${HOSTILE}` }));
  await page.keyboard.press('Enter');
  const question = page.getByRole('alertdialog', { name: `Revoke “${HOSTILE}”?` });
  await tabTo(page, question.getByRole('button', { name: 'Revoke' }));
  await page.keyboard.press('Enter');
  await page.getByText('No key with a name yet').waitFor();
  await assert.rejects(service.api('GET', '/contacts', { key }), /401/);
  await owner.close();
});

test('a key is in the code to copy until it is revoked or the session ends, and where copying fails it is said', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  owner.expectFault(/401/);
  const openTab = (name: string) => page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true }).click();
  const code = page.getByRole('region').filter({ hasText: 'sk_' });
  const make = async (name: string): Promise<string> => {
    await openTab('Keys');
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByRole('button', { name: 'New key' }).click();
    const key = await page.getByRole('group', { name: `The key “${name}”` }).locator('code').textContent();
    return key ?? '';
  };
  await owner.open('settings');
  const first = await make('First');
  await openTab('API');
  await code.filter({ hasText: first }).first().waitFor();
  await openTab('Keys');
  await page.getByRole('button', { name: 'Revoke First' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('No key with a name yet').waitFor();
  await openTab('API');
  await code.filter({ hasText: 'sk_...' }).first().waitFor();
  assert.equal(await code.filter({ hasText: first }).count(), 0);

  const second = await make('Second');
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.getByRole('group', { name: 'The key “Second”' }).getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('alert').getByText('It could not be copied').waitFor();
  await page.evaluate(() => fetch('/auth/logout'));
  await openTab('Members');
  await page.getByLabel('E-mail address').fill(service.owner.email);
  await page.getByLabel('Password', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await openTab('API');
  await code.filter({ hasText: 'sk_...' }).first().waitFor();
  assert.equal(await code.filter({ hasText: second }).count(), 0);
  await owner.close();
});

test('both keys are replaced with the password after a while, and the webhook secret is shown when somebody asks for it', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(settings('keys'));
  age();
  await page.getByRole('button', { name: 'Replace both keys' }).click();
  const question = page.getByRole('alertdialog', { name: 'Replace both keys?' });
  owner.expectFault(/40[13]/);
  await question.getByRole('button', { name: 'Replace both keys' }).click();
  await question.getByLabel('Your password').fill('wrong horse battery');
  await question.getByRole('button', { name: 'Replace both keys' }).click();
  await question.getByRole('alert').waitFor();
  await question.getByLabel('Your password').fill(service.owner.password);
  await question.getByRole('button', { name: 'Replace both keys' }).click();
  const once = page.getByRole('group', { name: 'The new secret key' });
  await once.waitFor();
  const secret = (await once.locator('code').textContent()) ?? '';
  await assert.rejects(service.api('GET', '/contacts', { key: service.project.secret }), /401/);
  service.project.secret = secret;
  await service.api('GET', '/contacts');
  const webhook = section(page, 'Webhook secret');
  await webhook.getByRole('button', { name: 'Show' }).click();
  await webhook.getByText(/^whsec_[\w+/]{8}/).waitFor();
  const old = await webhook.getByText(/^whsec_/).textContent();
  await webhook.getByRole('button', { name: 'Replace the secret' }).click();
  const replace = page.getByRole('alertdialog', { name: 'Replace the webhook secret?' });
  await replace.getByRole('button', { name: 'Replace the secret' }).click();
  await replace.getByLabel('Your password').fill(service.owner.password);
  await replace.getByRole('button', { name: 'Replace the secret' }).click();
  await page.getByText('Requests are signed with the new secret now.').waitFor();
  assert.notEqual(await webhook.getByText(/^whsec_/).textContent(), old);
  await owner.close();
});

test('somebody is invited by a link, both see each other, and the member sees no more than it may', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(settings('members'));
  const form = page.getByRole('form', { name: 'Invite somebody' });
  await form.getByLabel('E-mail address').fill(grace.email);
  await form.getByRole('button', { name: 'Invite' }).click();
  const once = page.getByRole('group', { name: `Invitation for ${grace.email}` });
  await once.getByRole('button', { name: 'Copy' }).click();
  await once.getByRole('button', { name: 'Copied' }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('region', { name: 'Open invitations' }).getByText(grace.email, { exact: true }).waitFor();

  const invited = await Visitor.of(service);
  await invited.page.goto(link);
  await invited.page.getByLabel(/name/i).first().waitFor();
  await invited.page.getByLabel(/name/i).first().fill('Grace');
  await invited.page.locator('input[type=password]').first().fill(grace.password);
  await invited.page.locator('input[type=password]').first().press('Enter');
  await invited.page.getByRole('heading', { name: /^You are in/ }).waitFor();
  await invited.page.getByRole('link', { name: 'Open the dashboard' }).click();
  await invited.page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
  await invited.open(settings('members'));
  const members = invited.page.getByRole('region', { name: 'Members' });
  await members.getByText(service.owner.email).waitFor();
  await members.getByRole('row', { name: /Grace/ }).waitFor();
  assert.equal(await invited.page.getByRole('link', { name: 'Danger zone' }).count(), 0);
  assert.equal(await invited.page.getByRole('button', { name: 'Invite', exact: true }).count(), 0);
  await invited.page.getByText('You can read this. Administrators and owners can change it.').waitFor();
  await invited.open(settings('general'));
  assert.equal(await invited.page.getByRole('form', { name: 'Project' }).getByLabel('Name').isDisabled(), true);
  await invited.open(settings('danger'));
  await invited.page.getByText('Only administrators and owners see this').waitFor();
  await invited.open(settings('keys'));
  assert.equal(await invited.page.getByRole('button', { name: 'New key' }).count(), 0);

  await page.reload();
  await page.getByRole('region', { name: 'Members' }).getByRole('row', { name: /Grace/ }).waitFor();
  await page.getByLabel(`Role of ${grace.email}`).selectOption('ADMIN');
  await page.getByText(`${grace.email}: Administrator`).waitFor();
  await invited.open(settings('audit'));
  await invited.page.getByRole('row', { name: /^Role changed, owner@acme.test/ }).waitFor();

  await page.getByRole('button', { name: `Actions for ${grace.email}` }).click();
  await page.getByRole('menuitem', { name: 'Offer ownership' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Offer ownership' }).click();
  await page.getByText('Ownership is offered', { exact: true }).waitFor();
  await invited.open(settings('members'));
  await invited.page.getByRole('button', { name: 'Become the owner' }).click();
  await invited.page.getByText('You are the owner now.').waitFor();
  await page.reload();
  await page.getByRole('region', { name: 'Members' }).getByText('Administrator').waitFor();

  // and back, so that other tests find the owner as it was
  await invited.page.getByRole('button', { name: `Actions for ${service.owner.email}` }).click();
  await invited.page.getByRole('menuitem', { name: 'Offer ownership' }).click();
  await invited.page.getByRole('alertdialog').getByRole('button', { name: 'Offer ownership' }).click();
  await invited.page.getByText('Ownership is offered', { exact: true }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Become the owner' }).click();
  await page.getByText('You are the owner now.').waitFor();
  await invited.open(settings('members'));
  await invited.page.getByRole('button', { name: `Actions for ${grace.email}` }).click();
  await invited.page.getByRole('menuitem', { name: 'Leave the project' }).click();
  await invited.page.getByRole('alertdialog').getByRole('button', { name: 'Leave the project' }).click();
  await invited.page.getByRole('heading', { name: 'Create a project' }).waitFor();
  await invited.close();
  await owner.close();
});

test('what a key asked for is confirmed, and an invitation is withdrawn', async () => {
  await service.api('POST', `/projects/${service.project.id}/members`, { body: { email: 'linus@example.org' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(settings('members'));
  await page.getByRole('button', { name: 'Confirm the invitation of linus@example.org' }).click();
  await page.getByRole('group', { name: 'Invitation for linus@example.org' }).waitFor();
  await page.getByRole('button', { name: 'Withdraw the invitation of linus@example.org' }).click();
  await page.getByText('The invitation of linus@example.org was withdrawn.').waitFor();
  await page.getByRole('region', { name: 'Open invitations' }).waitFor({ state: 'detached' });
  await owner.close();
});

test('a field and events are deleted, and a person is erased with a receipt', async () => {
  const email = 'ada@example.org';
  await service.api('POST', '/contacts', { body: { email, data: { plan: 'pro', [HOSTILE]: HOSTILE } } });
  await service.api('POST', '/v1/track', { body: { email, event: HOSTILE } });
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] };
  await service.api('POST', '/segments', { body: { name: 'Pros', condition } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(settings('data'));
  await page.getByRole('button', { name: 'Usage of data.plan' }).click();
  await page.getByRole('dialog', { name: 'data.plan' }).getByRole('link', { name: 'Pros' }).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  const question = page.getByRole('alertdialog', { name: 'Remove data.plan from all contacts?' });
  assert.equal(await question.getByRole('button', { name: 'Remove' }).isDisabled(), true);
  await question.getByLabel('Type “data.plan” to confirm').fill('data.plan');
  await question.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('data.plan was removed from 1 contact.').waitFor();
  await page.getByRole('button', { name: 'Usage of data.plan' }).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: `Usage of ${HOSTILE}`, exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the events' }).click();
  await page.getByRole('alertdialog').getByRole('textbox').fill(HOSTILE);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the events' }).click();
  await page.getByText(`“${HOSTILE}”: 1 event was deleted.`).waitFor();

  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Look up' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as JSON' }).click();
  assert.equal((await download).suggestedFilename(), `${email}.json`);
  await page.getByRole('button', { name: 'Erase the person' }).click();
  await page.getByRole('alertdialog').getByRole('textbox').fill(email);
  await page.getByRole('alertdialog').getByLabel('Keep the address out').check();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Erase the person' }).click();
  const receipt = page.getByRole('region', { name: 'Receipt' });
  await receipt.getByText('complete', { exact: true }).waitFor();
  assert.match(page.url(), /receipt=/);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Look up' }).click();
  await page.getByText('Erased, and kept out').waitFor();
  await owner.close();
});

test('tabs show hostile data as text, and speak German', async () => {
  const cookie = await service.cookie();
  await service.api('POST', '/contacts', { body: { email: 'bo@example.org', data: { [HOSTILE]: HOSTILE } } });
  await service.api('POST', '/v1/track', { body: { email: 'bo@example.org', event: HOSTILE } });
  const { id } = service.project;
  await service.api('POST', `/projects/${id}/keys`, { cookie, body: { name: HOSTILE, scopes: ['read', 'send'] } });
  await service.api('POST', `/projects/${id}/members`, { cookie, body: { email: 'wait@example.org', role: 'ADMIN' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  const tabs = [
    ['general', page.getByRole('heading', { name: 'Consent' })],
    ['members', page.getByRole('heading', { name: 'Open invitations' })],
    ['keys', page.getByRole('heading', { name: 'Webhook secret' })],
    ['data', page.getByRole('heading', { name: 'Requests of a person' })],
    ['audit', page.getByRole('row', { name: /^Key made/ }).first()],
  ] as const;
  for (const [tab, isThere] of tabs) {
    await owner.open(settings(tab));
    await isThere.waitFor();
  }
  const others = [
    ['security', 'What the levels mean'],
    ['billing', 'This instance bills nothing'],
    ['danger', 'Delete the project'],
  ] as const;
  for (const [tab, text] of others) {
    await owner.open(settings(tab));
    await page.getByText(text).first().waitFor();
  }
  await owner.open(settings('api'));
  await page.getByRole('button', { name: 'Python' }).first().click();
  await page.getByText('import urllib.request').first().waitFor();
  await owner.close();

  const german = await Visitor.of(service);
  await german.signIn(service.owner);
  await german.page.evaluate(() => localStorage.setItem('mailwright.language', 'de'));
  await german.open(settings('members'));
  await german.page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
  await german.page.getByRole('heading', { name: 'Offene Einladungen' }).waitFor();
  await german.close();
});

test('a project is emptied, and then deleted', async () => {
  const cookie = await service.cookie();
  const made = await service.api('POST', '/users/@me/projects', { cookie, body: { name: HOSTILE } });
  await service.api('POST', '/contacts', { key: made.secret, body: { email: 'ada@example.org' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`settings?tab=danger&p=${made.id}`);
  await page.getByRole('button', { name: 'Empty the project' }).click();
  const reset = page.getByRole('alertdialog', { name: `Empty “${HOSTILE}”?` });
  await reset.getByRole('textbox').fill(HOSTILE);
  await reset.getByRole('button', { name: 'Empty the project' }).click();
  await page.getByText('The project is empty.').waitFor();
  assert.equal((await service.api('GET', '/contacts', { key: made.secret })).data.length, 0);
  await page.getByRole('button', { name: 'Delete the project' }).click();
  const question = page.getByRole('alertdialog', { name: `Delete “${HOSTILE}”?` });
  await question.getByRole('textbox').fill('Acme');
  assert.equal(await question.getByRole('button', { name: 'Delete the project' }).isDisabled(), true);
  await question.getByRole('textbox').fill(HOSTILE);
  await question.getByRole('button', { name: 'Delete the project' }).click();
  await page.getByText(`“${HOSTILE}” is deleted.`).waitFor();
  await page.waitForURL(new RegExp(`/app/\\?p=${service.project.id}`));
  await page.getByRole('button', { name: /^Switch project: Acme/ }).waitFor();
  await owner.close();
});
