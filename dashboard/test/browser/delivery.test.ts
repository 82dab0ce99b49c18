import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, tabTo, Visitor } from './browser.ts';
import { HOSTILE } from './insight.ts';
import { Relay } from './relay.ts';
import { type Person, Service } from './service.ts';

const LATER = `451 4.2.1 come back later ${HOSTILE}`;
const relay = new Relay((recipient) => {
  if (recipient.startsWith('later')) return LATER;
  if (recipient.startsWith('nobody')) return '550 5.1.1 no such user';
  return recipient.startsWith('refused') ? '552 5.3.4 it is larger than we take' : undefined;
});
const grace: Person = { email: 'grace@example.org', password: 'another horse battery' };
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

test('mail to a domain is paused with the keyboard alone, marked, and goes on', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('delivery');
  const sites = page.getByRole('region', { name: 'Where it waits' });
  const row = sites.getByRole('row').filter({ hasText: 'example.org' });
  await tabTo(page, row.getByRole('button', { name: 'Actions for example.org' }));
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Pause' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const question = page.getByRole('alertdialog', { name: 'Pause mail to example.org?' });
  await tabTo(page, question.getByLabel('Reason (optional)'));
  await page.keyboard.type(`They asked us to ${HOSTILE}`);
  await owner.accessible('asking for a pause');
  await page.keyboard.press('Enter');
  const wanted = page.getByRole('region', { name: 'Paused, sent another way, given up' });
  const line = wanted.getByRole('row').filter({ hasText: 'mail to example.org' });
  await line.getByText('They asked us to <img src=x').waitFor();
  await line.getByText('owner@acme.test').filter({ visible: true }).waitFor();
  await row.getByText('Paused', { exact: true }).waitFor();

  // mail waits for it as soon as it is in force, a second or two later
  await service.until('a mail waits for the pause', async () => {
    const body = { to: 'fine@example.org', from: 'shop@acme.test', subject: 'To fine', body: '<p>Hello</p>' };
    const { data } = await service.api('POST', '/v1/send', { body });
    const id: string = data.emails[0].email;
    ids.paused = id;
    let mail: { status: string; error: string | null } | undefined;
    await service.until('it was looked at', async () => {
      mail = await service.api('GET', `/emails/${id}`);
      return mail?.status === 'SENT' || mail?.error != null;
    });
    return /was paused/.test(mail?.error ?? '');
  });
  await service.until('it is counted', async () => (await service.api('GET', '/delivery/interventions'))[0].waiting > 0);
  await page.reload();
  await row.getByText('It waits, because it was paused.').waitFor();
  await row.getByText('They asked us to <img src=x').waitFor();
  await owner.accessible('the delivery with a pause');

  await tabTo(page, line.getByRole('button', { name: 'Resume: mail to example.org' }));
  await page.keyboard.press('Enter');
  const resume = page.getByRole('alertdialog', { name: 'Resume mail to example.org?' });
  await tabTo(page, resume.getByRole('button', { name: 'Resume' }));
  await page.keyboard.press('Enter');
  await wanted.waitFor({ state: 'detached' });
  await row.getByText('Paused', { exact: true }).waitFor({ state: 'detached' });
  await service.until('it was sent', async () => (await service.api('GET', `/emails/${ids.paused}`)).status === 'SENT');
  await owner.close();
});

test('all mail of the project is paused, and given up for good with its name typed', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('delivery');
  await page.getByRole('button', { name: 'Pause all' }).click();
  await page.getByRole('alertdialog', { name: 'Pause all mail of the project?' }).getByRole('button', { name: 'Pause' }).click();
  const wanted = page.getByRole('region', { name: 'Paused, sent another way, given up' });
  await wanted.getByText('all mail of the project').waitFor();
  const row = page.getByRole('region', { name: 'Where it waits' }).getByRole('row').filter({ hasText: 'example.org' });
  await row.getByText('Paused', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resume all' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Resume' }).click();
  await wanted.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Give up all' }).click();
  const question = page.getByRole('alertdialog', { name: 'Give up all mail of the project?' });
  assert.equal(await question.getByRole('button', { name: 'Give up' }).isDisabled(), true);
  await question.getByLabel('Type “Acme” to confirm').fill('Acme');
  await question.getByLabel('Reason (optional)').fill('Too late by now');
  await question.getByRole('button', { name: 'Give up' }).click();
  await wanted.getByText('Given up', { exact: true }).waitFor();
  await service.until('it failed', async () => (await service.api('GET', `/emails/${ids.later}`)).status === 'FAILED');
  await page.getByText('Nothing waits. What you send leaves at once.').waitFor();
  await wanted.getByRole('button', { name: 'End: all mail of the project' }).click();
  await page.getByRole('alertdialog', { name: 'No longer give up all mail of the project?' }).getByRole('button', { name: 'End' }).click();
  await wanted.waitFor({ state: 'detached' });
  await owner.close();
});

test('a member sees what the operator paused, and ends nothing', async () => {
  const { token } = await service.api('POST', `/projects/${service.project.id}/members`, {
    cookie: await service.cookie(),
    body: { email: grace.email, role: 'MEMBER' },
  });
  await service.api('POST', '/auth/signup', { body: { ...grace, name: 'Grace', invitation: token } });
  const paused = service.command('delivery', ['pause', '--project', service.project.id, '--reason', 'Looking at complaints.']);
  const member = await Visitor.of(service);
  await member.signIn(grace);
  await member.open('delivery');
  const wanted = member.page.getByRole('region', { name: 'Paused, sent another way, given up' });
  await wanted.getByRole('row', { name: /Paused.*all mail of the project.*Looking at complaints\..*The operator/ }).waitFor();
  assert.equal(await member.page.getByRole('button', { name: /^(Pause|Resume|Give up|End)/ }).count(), 0);
  await member.close();
  const owner = await Visitor.of(service);
  await owner.signIn(service.owner);
  await owner.open('delivery');
  const theirs = owner.page.getByRole('region', { name: 'Paused, sent another way, given up' });
  await theirs.getByText('The operator ends it').waitFor();
  assert.equal(await theirs.getByRole('button').count(), 0);
  // the project's own pause would be another one
  await owner.page.getByRole('button', { name: 'Pause all' }).waitFor();
  service.command('delivery', ['end', paused.split(/\s/)[0] ?? '']);
  await owner.close();
});

test('where mail is brought to the recipients’ own servers, their sites are shown and can be paused as a whole', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  // servers of recipients cannot be had in a test
  await page.route('**/delivery/sites', async (route) => {
    const answer = await route.fetch();
    const at = new Date().toISOString();
    const site = { waiting: 3, deferred: 0, oldestWaitingAt: at, nextAttemptAt: at, why: null };
    const sites = [
      { ...site, domain: 'one.example', site: 'host.example', perMinute: 12.5, connections: 4, why: 'The site is warming up.' },
      { ...site, domain: 'two.example', site: null, perMinute: null, connections: null },
    ];
    await route.fulfill({ response: answer, json: { ...(await answer.json()), sites } });
  });
  await owner.open('delivery');
  const sites = page.getByRole('region', { name: 'Where it waits' });
  await sites.getByRole('row', { name: /^one\.example host\.example 3 0 The site is warming up\. 12\.5 4/ }).waitFor();
  await sites.getByRole('columnheader', { name: 'Connections' }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await sites.getByRole('columnheader', { name: 'Connections' }).count(), 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await owner.accessible('the delivery to sites');
  await sites.getByRole('button', { name: 'Actions for one.example' }).click();
  await page.getByRole('menuitem', { name: 'Pause: mail to all domains at host.example' }).click();
  await page.getByRole('alertdialog', { name: 'Pause mail to all domains at host.example?' }).getByRole('button', { name: 'Pause' }).click();
  await sites.getByRole('row').filter({ hasText: 'one.example' }).getByText('Paused', { exact: true }).waitFor();
  assert.equal(await sites.getByRole('row').filter({ hasText: 'two.example' }).getByText('Paused', { exact: true }).count(), 0);
  await owner.close();
});
