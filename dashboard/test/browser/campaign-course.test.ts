import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { HOSTILE } from './insight.ts';
import { Relay } from './relay.ts';
import { Service } from './service.ts';

/** Whether the mail server is in the mood to take what it refused before. */
let isWilling = false;
const relay = new Relay((recipient) => {
  if (isWilling) return undefined;
  if (recipient.startsWith('refused')) return `552 5.3.4 larger than we take ${HOSTILE}`;
  if (recipient.startsWith('nobody')) return '550 5.1.1 no such user';
  return recipient.startsWith('doubt') ? 'break' : undefined;
});
/** Mails a second: slow enough for a person to come between. */
const PER_SECOND = 10;
let service: Service;
let address = '';
const segments: Record<string, string> = {};

before(async () => {
  address = await relay.start();
  service = await Service.start({ MAILWRIGHT_TRANSPORT: address, MAILWRIGHT_SENDING_PER_SECOND: String(PER_SECOND) });
  const people = [
    ...Array.from({ length: 400 }, (_, index) => ({ email: `many${index}@example.org`, data: { group: 'many' } })),
    ...['fine', 'refused', 'nobody', 'doubt'].map((name) => ({ email: `${name}@example.org`, data: { group: 'few' } })),
  ];
  for (let from = 0; from < people.length; from += 20) {
    await Promise.all(people.slice(from, from + 20).map((body) => service.api('POST', '/contacts', { body: { subscribed: true, ...body } })));
  }
  for (const name of ['many', 'few']) {
    const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.group', operator: 'equals', value: name }] }] };
    segments[name] = (await service.api('POST', '/segments', { body: { name, condition } })).id;
  }
});

after(async () => {
  await closeBrowser();
  await service.stop();
  relay.stop();
});

const ledger = (page: Page) => page.getByRole('group', { name: 'Ledger' });
const states = (page: Page) => page.getByRole('group', { name: 'Status' });
const part = (page: Page, name: string) => page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name, exact: true }) });

async function draft(group: string, fields: Record<string, unknown> = {}): Promise<string> {
  const body = {
    name: `To ${group}`,
    subject: 'News',
    body: '<p>Hello</p>',
    from: 'news@acme.test',
    audienceType: 'SEGMENT',
    segmentId: segments[group],
    ...fields,
  };
  return (await service.api('POST', '/campaigns', { body })).data.id;
}

test('a campaign under way is paused, resumed and cancelled, and its ledger adds up at every moment', async () => {
  const id = await draft('many');
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`campaigns/${id}?tab=review`);
  await page.getByText(/^Sending takes about/).waitFor();
  await page.getByRole('button', { name: 'Send to 400 people' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Send now' }).click();
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
  await ledger(page).getByRole('link', { name: / accepted$/ }).waitFor();
  await ledger(page).getByRole('link', { name: / waiting$/ }).waitFor();
  await page.getByText(/\d+ mails a second, about .* left\./).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused', { exact: true }).waitFor();
  await page.getByText('It is paused. No more mails leave until it is resumed.').waitFor();
  // what was claimed before still leaves
  const accepted = async () => (await service.api('GET', `/campaigns/${id}/ledger`)).equation.accepted;
  let taken = -1;
  await service.until('nothing more leaves', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = await accepted();
    const rests = now === taken;
    taken = now;
    return rests;
  });
  assert.ok(taken > 0 && taken < 400, String(taken));
  await ledger(page).getByRole('link', { name: `${taken} accepted`, exact: true }).waitFor();
  assert.equal((await ledger(page).textContent()) ?? '', `400 = ${taken} accepted + ${400 - taken} waiting`);
  await owner.accessible('a campaign that is paused');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('main').getByText('Sending', { exact: true }).waitFor();
  await service.until('more leaves', async () => (await accepted()) > taken);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel campaign' }).click();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  await ledger(page).getByRole('link', { name: / skipped$/ }).waitFor();
  await ledger(page).getByRole('link', { name: / waiting$/ }).waitFor({ state: 'detached' });
  const { equation } = await service.api('GET', `/campaigns/${id}/ledger`);
  assert.equal((await ledger(page).textContent()) ?? '', `400 = ${equation.accepted} accepted + ${400 - equation.accepted} skipped`);
  await ledger(page).getByRole('link', { name: / skipped$/ }).click();
  await page.getByLabel('Reason').selectOption({ label: `cancelled (${400 - equation.accepted})` });
  await page.getByRole('grid', { name: 'Ledger: skipped' }).getByRole('row', { name: /many/ }).first().waitFor();
  await owner.close();
});

test('what failed and what is in doubt is looked at, and sent again', async () => {
  const id = await draft('few', { name: `Few ${HOSTILE}` });
  await service.api('POST', `/campaigns/${id}/send`, { body: {} });
  await service.until('it is over', async () => (await service.api('GET', `/campaigns/${id}`)).status === 'SENT');
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`campaigns/${id}`);
  await ledger(page).filter({ hasText: '4 = 1 accepted + 2 failed + 1 in doubt' }).waitFor();
  await ledger(page).getByRole('link', { name: '2 failed' }).click();
  const failures = page.getByRole('grid', { name: 'Ledger: failed' });
  await failures.getByRole('row', { name: 'refused@example.org' }).getByText('larger than we take <img').waitFor();
  await failures.getByRole('row', { name: 'nobody@example.org' }).getByText('no such address').waitFor();
  await owner.accessible('the ledger of failures');
  isWilling = true;
  await page.getByLabel('Reason').selectOption({ label: 'too large (1)' });
  await page.getByRole('button', { name: 'Send 1 failed mail again' }).click();
  await page.getByText('1 mail waits again.').waitFor();
  await states(page).getByRole('button', { name: '2 accepted' }).waitFor();
  await states(page).getByRole('button', { name: '1 in doubt' }).click();
  await page.getByRole('button', { name: 'Send 1 mail in doubt again' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Send 1 mail in doubt again' }).click();
  await states(page).getByRole('button', { name: '3 accepted' }).waitFor();
  await states(page).getByRole('button', { name: '0 in doubt' }).waitFor();
  await states(page).getByRole('button', { name: '1 failed' }).waitFor();
  isWilling = false;
  await owner.close();
});

test('the mails of a campaign that a restore holds are decided on its page', async () => {
  const id = await draft('many', { name: 'Held' });
  await service.api('POST', `/campaigns/${id}/send`, { body: {} });
  await service.until('some left', async () => {
    const { frozen, equation } = await service.api('GET', `/campaigns/${id}/ledger`);
    return frozen && equation.accepted > 0;
  });
  await service.api('POST', `/campaigns/${id}/pause`);
  await service.loseAndRestore();
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`campaigns/${id}`);
  const held = part(page, 'Held after a restore');
  await held.getByText(/^\d+ mails$/).waitFor();
  await ledger(page).getByRole('link', { name: / in doubt$/ }).waitFor();
  await owner.accessible('a campaign with held mail');
  await held.getByRole('button', { name: 'Do not send them' }).click();
  await page.getByRole('alertdialog').getByRole('textbox').fill('drop');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Do not send them' }).click();
  await page.getByText(/^0 mails are sent, \d+ are not\./).waitFor();
  await held.waitFor({ state: 'detached' });
  await ledger(page).getByRole('link', { name: / in doubt$/ }).waitFor();
  await owner.close();
});

test('the review says what keeps a campaign from being sent', async () => {
  await service.restart({ MAILWRIGHT_TRANSPORT: 'capture' });
  await service.api('POST', '/domains', { body: { domain: 'lost.test', projectId: service.project.id } });
  const id = await draft('many', {
    name: 'Wrong',
    from: 'news@lost.test',
    type: 'HEADLESS',
    body: '<p>Hello {{nickname}} from {{city}}</p>',
    audienceType: 'FILTERED',
    audienceCondition: { logic: 'AND', groups: [{ filters: [{ field: 'data.group', operator: 'equals', value: 'few' }] }] },
  });
  // mail was captured, so nobody looked at the records of the domain
  await service.restart({ MAILWRIGHT_TRANSPORT: address });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`campaigns/${id}?tab=review`);
  const problems = part(page, 'What would go wrong');
  const row = (text: string | RegExp) => problems.getByRole('listitem').filter({ hasText: text });
  await row('lost.test').getByText('Wrong', { exact: true }).waitFor();
  await row(/unsubscribe/i).getByText('Look', { exact: true }).waitFor();
  await row('nickname').first().getByText('Look', { exact: true }).waitFor();
  await row('nickname').first().getByText('is missing for 3 of the 3 recipients looked at').first().waitFor();
  await row('never sent as a test').waitFor();
  await page.getByText('First mend what is marked as wrong.').waitFor();
  assert.ok(await page.getByRole('button', { name: /^Send to/ }).isDisabled());
  await owner.accessible('a review that finds what is wrong');
  await row(/unsubscribe/i).getByRole('link', { name: 'Open the mail' }).click();
  await page.getByRole('textbox', { name: 'HTML of the mail' }).getByText('nickname').waitFor();
  await page.getByRole('link', { name: 'Review and send' }).click();
  await row('lost.test').getByRole('link', { name: 'Open sender and type' }).click();
  await page.getByLabel('Sender’s address').fill('news@acme.test');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('link', { name: 'Review and send' }).click();
  await row('lost.test').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Send to \d/ }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
  await owner.close();
});
