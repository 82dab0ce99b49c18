import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { HOSTILE } from './insight.ts';
import { Relay } from './relay.ts';
import { Service } from './service.ts';

const LATER = `451 4.2.1 come back later ${HOSTILE}`;
const relay = new Relay((recipient) => {
  if (recipient.startsWith('later')) return LATER;
  if (recipient.startsWith('nobody')) return '550 5.1.1 no such user';
  return recipient.startsWith('refused') ? '552 5.3.4 it is larger than we take' : undefined;
});
let service: Service;
const ids: Record<string, string> = {};

before(async () => {
  service = await Service.start({ MAILWRIGHT_TRANSPORT: await relay.start() });
  for (const name of ['later', 'nobody', 'refused', 'fine']) {
    const { data } = await service.api('POST', '/v1/send', {
      body: { to: `${name}@example.org`, from: 'shop@acme.test', subject: `To ${name}`, body: '<p>Hello</p>' },
    });
    ids[name] = data.emails[0].email;
  }
  await service.until('every mail was tried', async () => {
    const all = await Promise.all(Object.values(ids).map((id) => service.api('GET', `/emails/${id}`)));
    return all.every((mail) => mail.attempts.length > 0 && mail.status !== 'SENDING');
  });
});

after(async () => {
  await closeBrowser();
  await service.stop();
  relay.stop();
});

test('mail that waits and mail that was refused say why, and lead to their attempts', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('delivery');
  const sites = page.getByRole('region', { name: 'Where it waits' });
  await sites.getByRole('row').filter({ hasText: 'example.org' }).filter({ hasText: 'come back later <img' }).waitFor();
  const waits = page.getByRole('region', { name: 'Waits', exact: true });
  await waits.getByRole('link', { name: 'To later' }).waitFor();
  await waits.getByText('451 4.2.1 come back later <img').waitFor();
  const states = page.getByRole('region', { name: 'Mail by state' });
  await states.getByRole('link', { name: 'Bounced 1' }).waitFor();
  await page.getByRole('region', { name: 'Failed' }).getByText('it is larger than we take').waitFor();
  await owner.accessible('the delivery with mail that waits');
  await waits.getByRole('link', { name: 'To later' }).click();
  await page.getByRole('heading', { level: 1, name: 'To later' }).waitFor();
  await page.getByText('It is tried again after a pause that grows with each attempt.').waitFor();
  await page.getByText('Next attempt').waitFor();
  assert.equal(await page.getByText(/451.*come back later <img src=x/).count() > 0, true);
  await owner.accessible('a mail that waits');
  await owner.open(`emails/${ids.nobody}`);
  await page.getByText('The address does not exist. The contact was unsubscribed').waitFor();
  await page.getByText('550 5.1.1 no such user').first().waitFor();
  await owner.open('mailbox');
  await page.getByText('Mail leaves this instance: 127.0.0.1').waitFor();
  await owner.close();
});
