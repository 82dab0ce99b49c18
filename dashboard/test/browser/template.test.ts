import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

let service: Service;

before(async () => {
  service = await Service.start();
  await service.api('POST', '/contacts', { body: { email: 'ada@example.org', data: { plan: 'pro', name: 'Ada' } } });
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

/** A picture of one red point. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);
/** A name that would do harm if a page took it for HTML. */
const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;

const canvas = (page: Page) => page.getByRole('textbox', { name: 'Mail', exact: true });
const panel = (page: Page) => page.getByRole('complementary', { name: 'Settings' });
const idIn = (page: Page) => /templates\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';

async function makeTemplate(fields: Record<string, unknown>): Promise<string> {
  const body = { name: 'News', subject: 'News', from: 'hello@acme.test', type: 'TRANSACTIONAL', ...fields };
  return (await service.api('POST', '/templates', { body })).id;
}

async function saved(page: Page): Promise<void> {
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
}

/** Chooses an entry of the menu at the cursor. */
async function suggest(page: Page, typed: string, name: string): Promise<void> {
  await page.keyboard.type(typed);
  await page.getByRole('option', { name, selected: true }).waitFor();
  await page.keyboard.press('Enter');
}

test('a template is written by keyboard, found again as it was, and sent as it was written', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('templates');
  await page.getByText('No templates yet').waitFor();
  await owner.accessible('no templates');
  await page.getByRole('link', { name: 'New template' }).first().click();
  await page.getByRole('radio', { name: /Blank/ }).waitFor();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Type').selectOption('TRANSACTIONAL');
  await page.getByRole('button', { name: 'Create and write' }).click();

  await canvas(page).click();
  await page.keyboard.type('Hello ');
  await suggest(page, '{{pla', 'plan');
  await page.keyboard.type(', {{name ?? "friend"}}!');
  await page.keyboard.press('Enter');
  await suggest(page, '/heading 2', 'Heading 2');
  await page.keyboard.type('A < B & C');
  await page.keyboard.press('Enter');
  await suggest(page, '/button', 'Button');
  await page.keyboard.type('Go on: ');
  await panel(page).getByLabel('Link', { exact: true }).fill('https://acme.test/go?a=1&b=2');
  // Escape leads back to where the cursor was, before the rest of the label
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Insert a block' }).click();
  await page.getByRole('menuitem', { name: 'Text' }).click();
  await panel(page).getByRole('button', { name: 'Text', exact: true }).waitFor();
  await suggest(page, '/condition', 'Condition');
  // until it is set, everybody sees what is in it, and where it is set is open
  await panel(page).getByText('This condition is not set yet').waitFor();
  await panel(page).getByLabel('Condition').waitFor();
  await page.keyboard.type('You are a pro.');
  const found = page.getByRole('region', { name: 'What was found' });
  await found.getByText('A condition depends on nothing, so that every recipient gets the same.').waitFor();
  await owner.holds('a condition that is not set');
  await panel(page).getByLabel('Condition').fill('plan == "pro" and 1 < 2');
  await found.getByText('A condition depends on nothing').waitFor({ state: 'detached' });
  // from another block within, too
  await panel(page).getByRole('button', { name: 'Add “else if”' }).click();
  await found.getByText('A condition depends on nothing').waitFor();
  await canvas(page).locator('.mw-unset p').click();
  await panel(page).getByLabel('Condition').waitFor();
  await page.keyboard.type('x');
  await canvas(page).getByText('You are a pro.').click();
  await canvas(page).locator('.mw-unset p').click();
  await panel(page).getByRole('button', { name: 'Set the condition' }).click();
  await panel(page).getByLabel('Condition').fill('plan == "free"');
  await page.getByText('not set yet').waitFor({ state: 'detached' });
  await panel(page).getByRole('button', { name: 'Delete: Branch' }).click();

  // the heading goes above the greeting
  await canvas(page).getByText('A < B & C').click();
  await panel(page).getByRole('button', { name: 'Heading', exact: true }).waitFor();
  await page.keyboard.press('Alt+ArrowUp');
  assert.match((await canvas(page).innerText()).replaceAll(/\s+/g, ' '), /^A < B & C Hello plan,/);

  await page.getByRole('button', { name: 'Insert a block' }).click();
  await page.getByRole('menuitem', { name: 'Picture' }).click();
  await panel(page).getByRole('button', { name: 'Choose a picture' }).click();
  await page.getByRole('dialog').locator('input[type=file]').setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: PIXEL });
  await page.getByRole('dialog').getByLabel('Alternative text').fill('A red point');
  await page.getByRole('dialog').getByRole('radio', { name: /red\.png/ }).waitFor();
  await page.getByRole('button', { name: 'Use the picture' }).click();
  await canvas(page).getByRole('img', { name: 'A red point' }).waitFor();
  await page.getByLabel('Subject', { exact: true }).fill('For {{plan}}');
  await page.getByText('No problems').waitFor();
  await saved(page);
  const written = await canvas(page).innerHTML();
  await owner.accessible('the visual editor');

  await page.reload();
  await canvas(page).getByText('You are a pro.').waitFor();
  assert.equal(await canvas(page).locator('.mw-chip').count(), 2);
  const sections = (html: string) => html.replaceAll(/ data-hint="[^"]*"| class="ProseMirror-selectednode"/g, '');
  assert.equal(sections(await canvas(page).innerHTML()), sections(written));

  const id = idIn(page);
  const stored = await service.api('GET', `/templates/${id}`);
  assert.equal(stored.name, HOSTILE);
  assert.equal(stored.document.editor, 'mailwright');
  await service.api('POST', '/v1/send', { body: { to: 'ada@example.org', template: id } });
  let html = '';
  await service.until('the mail is in the mailbox', async () => {
    const { data } = await service.api('GET', '/mailbox');
    if (data.length === 0) return false;
    const mail = await service.api('GET', `/mailbox/${data[0].id}`);
    html = mail.html;
    assert.equal(mail.subject, 'For pro');
    return true;
  });
  assert.match(html, /Hello pro, Ada!/);
  assert.match(html, />A &lt; B &amp; C<\/h2>/);
  assert.match(html, /You are a pro\./);
  assert.doesNotMatch(html, /\{%|\{\{|<mj-/);
  assert.match(html, /alt="A red point"/);
  assert.match(html, /Go on/);
  await owner.close();
});

test('code of others is edited as code, and kept byte for byte; an error is shown at its line', async () => {
  const body = '<html>\r\n\t<body  class=x>\r\n<p>Hello {{name}}</P>\r\n\r\n</body></html>  ';
  const id = await makeTemplate({ name: 'Foreign', body });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`templates/${id}`);
  const code = page.getByRole('textbox', { name: 'HTML of the mail' });
  await code.waitFor();
  assert.equal(await page.getByRole('button', { name: 'Edit as MJML' }).count(), 0);
  await page.getByLabel('Subject', { exact: true }).fill('Another subject');
  await saved(page);
  const kept = await service.api('GET', `/templates/${id}`);
  assert.equal(kept.body, body);
  assert.equal(kept.subject, 'Another subject');

  await code.getByText('Hello').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' {{ name | upcas ');
  await page.getByText('1 error').waitFor();
  const list = page.getByRole('region', { name: 'What was found' });
  await list.getByText('Did you mean upcase?').waitFor();
  await list.getByText('line 3').waitFor();
  await page.locator('.cm-lint-marker-error').waitFor();
  await owner.accessible('code with an error');
  owner.expectFault(/400/);
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText(/upcas/).first().waitFor();
  assert.equal((await service.api('GET', `/templates/${id}`)).body, body);

  await code.getByText('upcas').click();
  await page.keyboard.press('End');
  for (const _ of ' | upcas }}') await page.keyboard.press('Backspace');
  await page.keyboard.type(' }}');
  await page.getByText('1 error').waitFor({ state: 'detached' });
  await saved(page);
  assert.equal((await service.api('GET', `/templates/${id}`)).body, body.replace('</P>', '</P> {{ name }}'));
  await owner.close();
});

test('a version is compared and restored, and what is not saved is guarded', async () => {
  const id = await makeTemplate({ name: 'Versions', subject: 'First', body: '<p>The first words</p>' });
  await service.api('PATCH', `/templates/${id}`, { body: { subject: 'Second', body: '<p>The second words</p>' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`templates/${id}?tab=versions`);
  await page.getByRole('row', { name: /First/ }).waitFor();
  await page.getByRole('button', { name: 'Compare with version 1' }).click();
  await page.frameLocator('iframe[title="Version 1"]').getByText('The first words').waitFor();
  await page.frameLocator('iframe[title="Current version"]').getByText('The second words').waitFor();
  await page.getByText('Subject then').waitFor();
  await page.getByRole('button', { name: 'Source' }).click();
  await page.getByRole('textbox', { name: 'Version 1' }).getByText('The first words').waitFor();
  await page.getByRole('button', { name: 'Restore version 1' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('button', { name: 'Compare with version 2' }).waitFor();
  const restored = await service.api('GET', `/templates/${id}`);
  assert.equal(restored.body, '<p>The first words</p>');
  assert.equal(restored.subject, 'First');

  await page.getByRole('link', { name: 'Write' }).click();
  await page.getByRole('textbox', { name: 'HTML of the mail' }).getByText('The first words').waitFor();
  await page.getByLabel('Subject', { exact: true }).fill('Not saved');
  const questions: string[] = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.type());
    void dialog.dismiss();
  });
  await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: 'Contacts' }).click();
  assert.deepEqual(questions, ['confirm']);
  assert.equal(await page.getByLabel('Subject', { exact: true }).inputValue(), 'Not saved');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('button', { name: 'Save and send' }).click();
  await page.getByText('A test is on its way to owner@acme.test.').waitFor();
  assert.equal((await service.api('GET', `/templates/${id}`)).subject, 'Not saved');
  await owner.close();
});

test('nothing in a preview runs, whoever reads it sees their own data, and German is spoken', async () => {
  const body = `<html><body><h1>${HOSTILE}</h1><script>parent.document.title = 'taken'</script>
    <form action="/auth/logout"><button>Press</button></form><p>For {{plan}}</p></body></html>`;
  await makeTemplate({ name: `${HOSTILE} preview`, subject: HOSTILE, body });
  const owner = await Visitor.of(service, { language: 'de-DE' });
  const { page } = owner;
  owner.expectFault(/Content Security Policy|sandboxed|404/);
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).waitFor();
  await owner.open('templates?q=preview');
  await owner.accessible('the list in German');
  // without a search, as the navigation has it, nothing is searched for
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).getByRole('link', { name: 'Vorlagen' }).click();
  await page.waitForURL((url) => !url.searchParams.has('q'));
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.doesNotMatch(page.url(), /q=/);
  assert.equal(await page.getByRole('searchbox').inputValue(), '');
  await owner.open('templates?q=preview&page=9');
  await page.getByRole('link', { name: `${HOSTILE} preview` }).click();
  await page.getByRole('textbox', { name: 'HTML der Mail' }).waitFor();
  await page.getByRole('button', { name: 'Vorschau' }).click();
  const frame = page.frameLocator('iframe[title="Vorschau der Mail"][aria-hidden=false]');
  await frame.getByRole('button', { name: 'Press' }).waitFor();
  await page.getByRole('combobox', { name: 'Als' }).fill('ada');
  await page.getByRole('option', { name: 'ada@example.org' }).click();
  await frame.getByText('For pro').waitFor();
  assert.equal(await page.title(), `${HOSTILE} preview · Mailwright`);
  await page.getByRole('button', { name: 'Nur Text' }).click();
  await frame.getByText(/For pro/).waitFor();
  await owner.close();
});
