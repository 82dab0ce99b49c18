import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { send } from './insight.ts';
import { type Person, Service } from './service.ts';

let service: Service;
const member: Person = { email: 'member@acme.test', password: 'correct horse battery' };

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('a request is found by its id, and leads to its like', async () => {
  const answer = await fetch(`${service.url}/contacts/01890000-0000-7000-8000-000000000000`, {
    headers: { authorization: `Bearer ${service.project.secret}` },
  });
  assert.equal(answer.status, 404);
  const requestId = answer.headers.get('x-request-id') ?? '';
  await fetch(`${service.url}/v1/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.project.secret}`, 'content-type': 'application/json' },
    body: '{}',
  });
  await service.until('the requests are in the log', async () => (await service.api('GET', '/requests?status=errors')).data.length >= 2);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('requests');
  const list = page.getByRole('grid', { name: 'Requests, newest first' });
  await list.getByRole('row', { name: 'POST /v1/send, 422' }).waitFor();
  // the slash leads to the field, as everywhere
  await list.getByRole('row', { name: 'POST /v1/send, 422' }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type(requestId);
  await page.waitForURL(new RegExp(`id=${requestId}`));
  await page.getByText('All 1 shown').waitFor();
  await list.getByRole('row', { name: /GET \/contacts\/01890000/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Request' });
  await dialog.getByText('404 CONTACT_NOT_FOUND').waitFor();
  await dialog.getByRole('button', { name: 'Copy Request id' }).click();
  await dialog.getByText('Copied').first().waitFor({ state: 'attached' });
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), requestId);
  await dialog.getByRole('button', { name: 'errors with this code' }).click();
  await page.waitForURL(/code=CONTACT_NOT_FOUND/);
  assert.equal(new URL(page.url()).searchParams.get('id'), null);
  await page.getByLabel('Status').selectOption('422 Refused');
  await page.getByText('No request like this').waitFor();
  await page.getByRole('button', { name: 'Remove all filters' }).last().click();
  await list.getByRole('row', { name: 'POST /v1/send, 422' }).waitFor();
  await owner.close();
});

test('the delivery says what waits and how mail is received', async () => {
  await send(service, 'ada@example.org', 'Hello');
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('delivery');
  await page.getByText('Nothing waits. What you send leaves at once.').waitFor();
  await page.getByText('Your mail is received well.').waitFor();
  await page.getByRole('region', { name: 'Recipient domains' }).getByText('example.org').waitFor();
  await page.getByRole('region', { name: 'Mail by state' }).getByRole('link', { name: /In doubt/ }).click();
  await page.waitForURL(/\/emails\?.*status=IN_DOUBT/);
  await owner.close();
});

test('who is no administrator is told so', async () => {
  const invited = await service.api('POST', `/projects/${service.project.id}/members`, {
    cookie: await service.cookie(),
    body: { email: member.email, role: 'MEMBER' },
  });
  const signedUp = await fetch(`${service.url}/auth/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...member, invitation: invited.token }),
  });
  assert.ok(signedUp.ok, await signedUp.text());
  const guest = await Visitor.of(service);
  await guest.signIn(member);
  await guest.open('requests');
  await guest.page.getByText('The log of requests is for administrators').waitFor();
  await guest.close();
});
