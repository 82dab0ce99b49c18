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

test('a mail is read the moment it is captured, removed, and the mailbox emptied', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  // the browser says that it ran no script of the mail
  owner.expectFault(/Blocked script execution/);
  await owner.open('mailbox');
  await page.getByText('Nothing was captured yet').waitFor();
  await send(service, 'first@example.org', 'The first');
  const list = page.getByRole('region', { name: 'Captured mails, newest first' });
  await list.getByRole('link', { name: /The first/ }).waitFor();
  const reader = page.getByRole('article', { name: 'The first' });
  await reader.waitFor();

  await send(service, 'second@example.org', `The second ${HOSTILE}`, {
    body: `<h1>Second</h1><script>document.title='owned'</script><p onclick="alert(1)">${'text '.repeat(20)}</p>`,
    attachments: [{ filename: 'invoice.pdf', contentType: 'application/pdf', content: 'JVBERi0xLjQK' }],
  });
  await list.getByRole('link', { name: /The second/ }).waitFor();
  // what is read stays; the new one is said to be new
  await reader.waitFor();
  await page.getByText('1 new mail: The second').waitFor({ state: 'attached' });
  await page.keyboard.press('k');
  const second = page.getByRole('article', { name: /The second <img/ });
  // the mail is shown, and what it holds does nothing
  const frame = second.getByTitle('The mail');
  assert.equal(await frame.getAttribute('sandbox'), '');
  await frame.contentFrame().getByRole('heading', { name: 'Second' }).waitFor();
  await frame.contentFrame().getByText('text text').click();
  assert.equal(await page.title(), 'Captured mail · Mailwright');
  const saved = page.waitForEvent('download');
  await second.getByRole('button', { name: 'Download: invoice.pdf' }).click();
  assert.equal((await saved).suggestedFilename(), 'invoice.pdf');
  await second.getByRole('tab', { name: 'Checks' }).click();
  await second.getByText('Signed for acme.test, and the signature is right.').waitFor();
  await second.getByText('Mail programs take these elements out: script.').waitFor();
  await second.getByRole('tab', { name: 'Source' }).click();
  await second.getByText(/DKIM-Signature/).waitFor();
  await page.keyboard.press('ArrowLeft');
  await second.getByText('DKIM-Signature', { exact: true }).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('article', { name: 'The first' }).waitFor();
  assert.match(page.url(), /mail=[0-9a-f-]{36}/);

  await page.getByRole('article').getByRole('button', { name: 'Remove this mail' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove this mail' }).click();
  await second.waitFor();
  assert.equal(await list.getByRole('link', { name: /The first/ }).count(), 0);
  await page.getByRole('button', { name: 'Empty the mailbox' }).click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByLabel('Type “Acme” to confirm').fill('Acme');
  await dialog.getByRole('button', { name: 'Empty the mailbox' }).click();
  await page.getByText('Nothing was captured yet').waitFor();
  await owner.close();
});

test('more mails than a page has, captured while nobody listened, are all in the list', async () => {
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
  await owner.open('mailbox');
  await page.getByText('Nothing was captured yet').waitFor();
  await Promise.all(Array.from({ length: 55 }, (_, index) => send(service, `many${index}@example.org`, `Mail ${index}`)));
  listen();
  await page.getByText('55 mails', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Show older mails' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[data-mail]').length === 55);
  await service.api('DELETE', '/mailbox', { cookie: await service.cookie() });
  await page.unroute('**/activity/stream*');
  await owner.close();
});

test('on a phone a mail has a page of its own, and the way back', async () => {
  await send(service, 'phone@example.org', `On the way ${HOSTILE}`);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await page.setViewportSize({ width: 360, height: 740 });
  await owner.open('mailbox');
  await page.getByRole('link', { name: /On the way/ }).click();
  await page.waitForURL(/\/mailbox\/[0-9a-f-]{36}/);
  await page.getByRole('heading', { level: 1, name: /On the way <img/ }).waitFor();
  await page.getByTitle('The mail').contentFrame().getByText('Hello, your orders').waitFor();
  await page.getByRole('link', { name: 'Captured mail' }).first().click();
  await page.getByRole('link', { name: /On the way/ }).waitFor();
  await owner.close();
});

test('a mail is found in the list, with its attempts and who opened it', async () => {
  const id = await send(service, 'ada@example.org', `Order ${HOSTILE}`);
  await send(service, 'grace@example.org', 'Another one');
  await open(service, id);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('emails');
  const list = page.getByRole('grid', { name: 'Emails, newest first' });
  await list.getByRole('row', { name: /Another one, grace@example.org, Sent/ }).waitFor();
  await page.getByLabel('Status').selectOption('Opened');
  await page.waitForURL(/status=OPENED/);
  await page.getByLabel('Find a contact by its address').fill('ada@example.org');
  await page.keyboard.press('Enter');
  await page.waitForURL(/contact=/);
  await list.getByRole('row', { name: /^Order/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /Order <img/ }).waitFor();
  await page.getByText('First opened by a person').waitFor();
  await page.getByText('Attempt 1').waitFor();
  const hits = page.getByRole('region', { name: 'Opens and clicks' });
  await hits.getByRole('row').filter({ hasText: 'Person' }).waitFor();
  await page.getByRole('link', { name: 'Read it in captured mail' }).waitFor();
  await page.getByTitle('The mail').contentFrame().getByText('Hello, your orders').waitFor();
  await owner.open('emails?status=FAILED');
  await page.getByText('No mail like this').waitFor();
  await owner.close();
});
