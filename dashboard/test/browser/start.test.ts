import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { Relay } from './relay.ts';
import { Service } from './service.ts';

const services: Service[] = [];

async function started(settings: Record<string, string> = {}, isEmpty = false): Promise<Service> {
  const service = await (isEmpty ? Service.start(settings, null) : Service.start(settings));
  services.push(service);
  return service;
}

after(async () => {
  await closeBrowser();
  await Promise.all(services.map((service) => service.stop()));
});

const section = (page: Page, name: string) => page.locator('section').filter({ has: page.getByRole('heading', { name, level: 2 }) });
const copied = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

/** Goes to the start page, as a person does who is in the dashboard, and finds the steps there that are still open. */
async function openSteps(page: Page, done: number): Promise<string[]> {
  await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: 'Home' }).click();
  const list = section(page, 'First steps');
  await list.getByText(`${done} of 5 done`).waitFor();
  return list.getByRole('link').allTextContents();
}

test('the first person comes from signing up to a project that sends', async () => {
  const service = await started({}, true);
  const ada = await Visitor.of(service);
  const { page } = ada;
  // nobody is signed in, which the browser reports
  ada.expectFault(/401/);
  await page.goto('');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByRole('heading', { name: 'Create the first account' }).waitFor();
  await page.getByLabel('E-mail address').fill('ada@rockets.test');
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByRole('heading', { name: 'Create a project' }).waitFor();
  await page.getByLabel('Name').fill('Rockets');
  await page.getByRole('button', { name: 'Create a project' }).click();
  await page.getByRole('heading', { level: 1, name: 'Get started' }).waitFor();

  // the domain comes first: without one nothing is sent, and there is no code that would be refused
  await page.getByRole('heading', { name: 'First, the domain that you send from' }).waitFor();
  assert.equal(await page.getByText('Waiting for the first mail…').count(), 0);
  assert.equal(await page.getByText('example.com').count(), 0);
  await page.getByRole('button', { name: 'Add a domain' }).click();
  await page.getByRole('dialog').getByLabel('Domain').fill('rockets.test');
  await page.getByRole('dialog').getByRole('button', { name: 'Add a domain' }).click();
  await page.getByText(/hello@rockets\.test/).waitFor();
  await page.getByText('Waiting for the first mail…').waitFor();
  // captured mail needs no records, and the settings say why the domain may send
  await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('tab', { name: 'Domains' }).or(page.getByRole('link', { name: 'Domains' })).click();
  const domain = section(page, 'rockets.test');
  await domain.getByText('May send, not checked').waitFor();
  await domain.getByText(/this instance keeps all mail to itself/).waitFor();
  await domain.getByText('required once mail leaves').waitFor();
  assert.equal(await domain.getByText(/cannot send without it/).count(), 0);
  await domain.getByRole('button', { name: 'Copy Signature (DKIM): Value' }).click();
  assert.match(await copied(page), /^v=DKIM1;/);
  await domain.getByRole('button', { name: 'Copy as zone file' }).click();
  await domain.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await copied(page), /^\S+\.rockets\.test\.\s.*TXT\s.*"v=DKIM1;/m);
  assert.deepEqual(await openSteps(page, 1), ['Send a first mail', 'Have contacts', 'Send a campaign', 'Switch on a workflow']);

  // the code has the project's own key and domain, and does what it says
  await page.getByRole('link', { name: 'Send a first mail' }).click();
  await page.getByText('Waiting for the first mail…').waitFor();
  const key = (await page.getByText(/^sk_\w{20,}$/).textContent()) ?? '';
  const code = async (language: string) => {
    await page.getByRole('button', { name: language, exact: true }).click();
    await page.getByRole('button', { name: /^Copy the code/ }).click();
    await page.waitForFunction(async (word) => (await navigator.clipboard.readText()).includes(word), LANGUAGE_MARKS[language] ?? language);
    const text = await copied(page);
    assert.ok(text.includes(key), `the ${language} has the key`);
    assert.ok(text.includes('hello@rockets.test'), `the ${language} has the domain`);
    return text;
  };
  await code('Rust');
  execFileSync('bash', ['-c', `set -e\n${await code('curl')}`], { stdio: 'pipe' });
  await page.getByText('Your first mail is here.').waitFor();
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', await code('JavaScript')], { encoding: 'utf8' });
  assert.equal(JSON.parse(printed).data.emails[0].contact.email, 'ada@example.org');
  execFileSync('python3', ['-c', await code('Python')], { stdio: 'pipe' });
  const sent = await service.api('GET', '/emails', { key });
  assert.deepEqual(sent.data.map((mail: { to: string }) => mail.to), Array(3).fill('ada@example.org'));
  await page.getByRole('link', { name: 'Look at it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Hello Ada' }).waitFor();
  assert.deepEqual(await openSteps(page, 3), ['Send a campaign', 'Switch on a workflow']);
  // with a mail that was kept, it is certain
  await page.goto('settings?tab=domains');
  await section(page, 'rockets.test').getByText(/^This instance keeps all mail to itself/).waitFor();
  await goals(page);
  await complete(service, key);
  await page.goto('');
  await section(page, 'Needs you').getByRole('listitem').getByText('Your address is not verified').waitFor();
  await section(page, 'The last seven days').getByText('Sent', { exact: true }).waitFor();
  await section(page, 'First steps').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Look at it: Your address is not verified' }).click();
  await page.getByText('not verified').first().waitFor();
  await ada.close();
});

/** What is in the code of a language alone. */
const LANGUAGE_MARKS: Record<string, string> = { curl: 'curl http', JavaScript: 'await fetch', Python: 'urllib', Rust: 'reqwest' };

/** Each goal of the first steps leads to where it is reached. */
async function goals(page: Page): Promise<void> {
  const ways = [
    ['Import contacts', 'Import contacts'],
    ['Write a campaign', 'New campaign'],
    ['Build a workflow', 'New workflow'],
  ] as const;
  for (const [goal, heading] of ways) {
    await page.goto('onboarding');
    await page.getByRole('navigation', { name: 'Goals' }).getByRole('link', { name: goal }).click();
    await page.getByRole('heading', { name: heading }).waitFor();
  }
  await page.goto('contacts/import');
  const buffer = Buffer.from('email,subscribed\ngrace@example.org,true\n');
  await page.getByLabel('Choose a CSV file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: /^(Start the import|Import 1 row)$/ }).click();
  await page.getByText('The import is complete').waitFor();
}

/** Sends a campaign and switches a workflow on. */
async function complete(service: Service, key: string): Promise<void> {
  const body = { name: 'News', subject: 'News', body: '<p>News</p>', from: 'hello@rockets.test', type: 'MARKETING', audienceType: 'ALL' };
  const { data: campaign } = await service.api('POST', '/campaigns', { key, body });
  await service.api('POST', `/campaigns/${campaign.id}/send`, { key, body: {} });
  const workflow = await service.api('POST', '/workflows', { key, body: { name: 'Welcome', eventName: 'signup' } });
  const exit = { type: 'EXIT', name: 'End', config: {}, position: { x: 0, y: 0 } };
  await service.api('POST', `/workflows/${workflow.id}/steps`, { key, body: exit });
  await service.api('PATCH', `/workflows/${workflow.id}`, { key, body: { enabled: true } });
}

/** Changes the service's database as nothing that a test can wait for would. */
function change(folder: string, statements: string): void {
  const program = `import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=30) as database:
    database.executescript(sys.argv[2])`;
  execFileSync('python3', ['-c', program, join(folder, 'mailwright.sqlite'), statements]);
}

test('the start page says what needs a person before its figures, in German', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mailwright-start-'));
  const relay = new Relay((recipient) => (recipient.startsWith('later') ? '451 4.2.1 come back later' : undefined));
  const service = await started({ MAILWRIGHT_DATA_DIR: folder, MAILWRIGHT_TRANSPORT: await relay.start() });
  await service.api('POST', '/domains', { body: { domain: 'failing.test' } });
  const send = async (to: string): Promise<string> => {
    const body = { to, from: 'shop@acme.test', subject: 'Hallo', body: '<p>Hallo</p>' };
    return (await service.api('POST', '/v1/send', { body })).data.emails[0].email;
  };
  const later = await send('later@example.org');
  await service.until('the mail waits', async () => (await service.api('GET', `/emails/${later}`)).attempts.length > 0);
  const form = new FormData();
  form.append('file', new File(['email\nada@example.org\n'], 'people.csv', { type: 'text/csv' }));
  const { jobId } = await service.api('POST', '/contacts/import', { form });
  await service.until('the import is over', async () => (await service.api('GET', `/contacts/import/${jobId}`)).state === 'completed');
  // an hour later: the mail still waits, the import was given up, and a restore holds a mail
  change(folder, `update jobs set state = 'failed', failed_reason = 'The disk is full.';
    update emails set created_at = created_at - 3600000;
    insert into held_emails (project_id, email_id) select project_id, id from emails limit 1;`);
  const kinds = (await service.api('GET', `/projects/${service.project.id}/attention`)).items.map((item: { kind: string }) => item.kind);
  assert.deepEqual(kinds, ['DOMAIN_UNVERIFIED', 'MAILS_WAIT', 'HELD_MAILS', 'JOB_FAILED']);

  const owner = await Visitor.of(service, { language: 'de-DE' });
  const { page } = owner;
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
  const needs = section(page, 'Braucht dich');
  await needs.getByText('failing.test').first().waitFor();
  assert.equal(await needs.getByRole('listitem').count(), kinds.length);
  await section(page, 'Die letzten sieben Tage').getByText('Gesendet').waitFor();
  const titles = await page.getByRole('heading', { level: 2 }).allTextContents();
  assert.ok(titles.indexOf('Braucht dich') < titles.indexOf('Die letzten sieben Tage'));
  // everything leads to where it is mended
  const places = [
    [/failing\.test/, /\/settings\?.*tab=domains/],
    [/wartet/, /\/delivery/],
    [/zurückgehalten/, /\/delivery/],
    [/Vorgang im Hintergrund/, new RegExp(`/contacts/import\\?.*job=${jobId}`)],
  ] as const;
  for (const [what, place] of places) {
    await page.goto('');
    await needs.getByRole('link', { name: what }).click();
    await page.waitForURL(place);
  }
  // a check that finds nothing says so
  await page.goto(`settings?tab=domains&p=${service.project.id}`);
  const failing = section(page, 'failing.test');
  await failing.getByText('Nicht bestätigt').waitFor();
  await failing.getByRole('button', { name: 'Jetzt prüfen' }).click();
  await failing.getByRole('button', { name: 'Jetzt prüfen' }).waitFor();
  await failing.getByText(/^(Fehlt|Keine Antwort vom DNS)$/).first().waitFor();

  service.command('project', ['disable', service.project.id, '--reason', 'Too many complaints']);
  await service.until('the project is disabled', async () => {
    const { items } = await service.api('GET', `/projects/${service.project.id}/attention`);
    return items[0].kind === 'PROJECT_DISABLED';
  });
  await page.goto('');
  await needs.getByRole('listitem').first().getByText('Too many complaints').waitFor();
  await owner.close();
  relay.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a domain that waits for its records stands in place of the code, and says so', async () => {
  const relay = new Relay(() => undefined);
  const service = await started({ MAILWRIGHT_TRANSPORT: await relay.start() });
  const cookie = await service.cookie();
  const other = await service.api('POST', '/users/@me/projects', { cookie, body: { name: 'Other' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`onboarding?p=${other.id}`);
  await page.getByRole('button', { name: 'Add a domain' }).click();
  await page.getByRole('dialog').getByLabel('Domain').fill('waiting.test');
  await page.getByRole('dialog').getByRole('button', { name: 'Add a domain' }).click();
  await page.getByRole('heading', { name: 'waiting.test waits for its DNS records' }).waitFor();
  assert.equal(await page.getByText('Waiting for the first mail…').count(), 0);
  await owner.accessible('a first mail without a domain');
  await page.getByRole('link', { name: 'Show the records' }).click();
  await section(page, 'waiting.test').getByText('Not verified').waitFor();
  // of a domain that the operator vouches for nothing is said of captured mail once mail leaves
  await owner.open(`settings?tab=domains&p=${service.project.id}`);
  await section(page, 'acme.test').waitFor();
  await owner.close();
  relay.stop();
});

test('topics are added, changed, ordered and deleted', async () => {
  const service = services[0] ?? (await started());
  const { owner, id } = await member(service);
  const { page } = owner;
  await owner.open(`settings?tab=topics&p=${id}`);
  await page.getByText('No topics yet').waitFor();
  const save = async (fields: Record<string, string>) => {
    for (const [name, value] of Object.entries(fields)) await page.getByRole('dialog').getByLabel(name, { exact: true }).fill(value);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  await page.getByRole('button', { name: 'Add a topic' }).click();
  await page.getByRole('dialog').getByLabel('Who puts contacts in').selectOption('PRIVATE');
  await save({ Name: 'Offers' });
  await page.getByRole('button', { name: 'Add a topic' }).click();
  await save({ Name: 'News', Description: 'What is new' });
  const rows = page.getByRole('region', { name: 'Topics' }).getByRole('row');
  await rows.nth(1).getByText('Only you').waitFor();
  await page.getByRole('button', { name: 'Move up: News' }).click();
  await rows.nth(1).getByText('What is new').waitFor();
  await page.getByRole('button', { name: 'Edit topic: Offers' }).click();
  await save({ Name: 'Special offers' });
  await page.getByRole('button', { name: 'Delete: Special offers' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The topic was deleted.').waitFor();
  await rows.filter({ hasText: 'Special offers' }).waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 2);
  await owner.close();
});

test('addresses are suppressed by hand, by a file and by rules, and freed again', async () => {
  const service = services[0] ?? (await started());
  const { owner, id } = await member(service);
  const { page } = owner;
  await owner.open(`settings?tab=suppressions&p=${id}`);
  await page.getByText('No address is suppressed').waitFor();
  await page.getByRole('button', { name: 'Suppress an address' }).click();
  await page.getByRole('dialog').getByLabel('E-mail address').fill('gone@example.org');
  await page.getByRole('dialog').getByLabel('Reason').selectOption('complaint');
  await page.getByRole('dialog').getByRole('button', { name: 'Suppress an address' }).click();
  await page.getByText('gone@example.org gets no more mail.').waitFor();
  const list = page.getByRole('grid', { name: 'Addresses' });
  await list.getByRole('row', { name: 'gone@example.org' }).waitFor();

  await page.getByRole('button', { name: 'Import…' }).click();
  const file = { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('email,reason\nfile@example.org,manual\nnobody,manual\n') };
  await page.getByRole('dialog').getByLabel('CSV file').setInputFiles(file);
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByText('1 address added, 0 unchanged, 1 failed.').waitFor();
  await page.getByRole('dialog').getByRole('cell', { name: 'nobody' }).waitFor();
  await page.keyboard.press('Escape');
  await list.getByRole('row', { name: 'file@example.org' }).waitFor();
  await page.getByRole('combobox', { name: 'Reason' }).selectOption('Complained');
  await list.getByRole('row', { name: 'file@example.org' }).waitFor({ state: 'detached' });
  await page.waitForURL(/reason=complaint/);

  await page.getByRole('button', { name: 'Add a rule' }).click();
  const rule = page.getByRole('dialog');
  await rule.getByLabel('Name').fill('Tests');
  await rule.getByLabel('Kind').selectOption({ label: 'Begins with' });
  await rule.getByLabel('Pattern').fill('test+');
  await rule.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The rule was saved.').waitFor();
  const preview = section(page, 'Would it be held back?');
  const ask = async (address: string) => {
    await preview.getByLabel('E-mail address').fill(address);
    await preview.getByRole('button', { name: 'Would it be held back?' }).click();
  };
  await ask('test+1@example.org');
  await preview.getByText('Held back by Tests.').waitFor();
  await page.getByRole('button', { name: 'Edit rule: Tests' }).click();
  await page.getByRole('dialog').getByLabel('On').uncheck();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await ask('test+1@example.org');
  await preview.getByText('Nothing holds this address back.').waitFor();
  await page.getByRole('button', { name: 'Delete rule: Tests' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete rule' }).click();
  await page.getByText('The rule was deleted.').waitFor();

  await list.getByRole('row', { name: 'gone@example.org' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('gone@example.org can get mail again.').waitFor();
  await list.getByRole('row', { name: 'gone@example.org' }).waitFor({ state: 'detached' });
  await owner.close();
});

/** Somebody new with a project of their own. */
async function member(service: Service): Promise<{ owner: Visitor; id: string }> {
  const person = { email: `owner${Date.now()}@rockets.test`, password: 'correct horse battery' };
  await service.api('POST', '/auth/signup', { body: person });
  const cookie = await service.cookie(person);
  const { id } = await service.api('POST', '/users/@me/projects', { cookie, body: { name: 'Another' } });
  const owner = await Visitor.of(service);
  await owner.signIn(person);
  return { owner, id };
}
