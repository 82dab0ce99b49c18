import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, tabTo, Visitor } from './browser.ts';
import { deliver, report, type Report } from './deliver.ts';
import { NameServer } from './dns.ts';
import { LONG } from './hostile.ts';
import { HOSTILE } from './insight.ts';
import { Relay } from './relay.ts';
import { freePort, type Person, Service } from './service.ts';

interface DnsRecord {
  name: string;
  value: string;
  purpose: string;
  status: string;
}

const grace: Person = { email: 'grace@example.org', password: 'another horse battery' };
const dns = new NameServer();
/** While mail is captured no domain is looked up. */
const relay = new Relay(() => undefined);
let service: Service;
let inbound: number;

before(async () => {
  inbound = await freePort();
  service = await Service.start({
    MAILWRIGHT_TRANSPORT: await relay.start(),
    MAILWRIGHT_DNS_SERVER: await dns.start(),
    MAILWRIGHT_INBOUND_LISTEN: `127.0.0.1:${inbound}`,
    MAILWRIGHT_INBOUND_HOST: 'mx.acme.test',
    MAILWRIGHT_INBOUND_RETURN_PATH: 'bounces.acme.test',
  });
  const { id } = service.project;
  const { token } = await service.api('POST', `/projects/${id}/members`, { cookie: await service.cookie(), body: { email: grace.email, role: 'MEMBER' } });
  await service.api('POST', '/auth/signup', { body: { ...grace, name: 'Grace', invitation: token } });
});

after(async () => {
  await closeBrowser();
  await service.stop();
  dns.stop();
  relay.stop();
});

/** The domain as the API shows it. */
async function domain(): Promise<{ id: string; records: DnsRecord[]; formerKeys: { name: string; removeAfter: string }[] }> {
  return (await service.api('GET', `/domains/project/${service.project.id}`))[0];
}

const ofPurpose = (records: readonly DnsRecord[], purpose: string) => records.filter((record) => record.purpose === purpose);
const publish = (records: readonly DnsRecord[]) => records.forEach(({ name, value }) => dns.set(name, value));
const section = (page: Page) => page.locator('section').filter({ has: page.getByRole('heading', { name: 'acme.test', level: 2 }) });

test('new keys are made with the keyboard alone, replace the old ones once their records are found, and the old ones are listed', async () => {
  const old = ofPurpose((await domain()).records, 'dkim');
  publish(old);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('settings?tab=domains');
  await tabTo(page, section(page).getByRole('button', { name: 'New keys' }));
  await page.keyboard.press('Enter');
  const question = page.getByRole('alertdialog', { name: 'New keys for acme.test?' });
  await question.getByText('Mail is still signed with the old keys.').waitFor();
  await question.getByText('for 7 days more').waitFor();
  await owner.accessible('asking for new keys');
  await tabTo(page, question.getByRole('button', { name: 'New keys' }));
  await page.keyboard.press('Enter');

  // what is to be published is shown at once, and nothing else
  const answer = page.getByRole('dialog', { name: 'New keys for acme.test' });
  await answer.waitFor();
  const fresh = ofPurpose((await domain()).records, 'dkim').filter(({ name }) => !old.some((one) => one.name === name));
  assert.equal(fresh.length, old.length);
  for (const { name, value } of fresh) {
    await answer.getByText(name, { exact: true }).waitFor();
    await answer.getByText(value, { exact: true }).waitFor();
  }
  for (const { name } of old) assert.equal(await answer.getByText(name, { exact: true }).count(), 0);
  await owner.accessible('the records of new keys');
  await page.keyboard.press('Escape');
  const own = section(page);
  await own.getByText('New keys wait for their records.').waitFor();
  assert.equal(await own.getByText('new key', { exact: true }).count(), fresh.length);

  // not twice
  owner.expectFault(/409/);
  await own.getByRole('button', { name: 'New keys' }).click();
  await question.getByRole('button', { name: 'New keys' }).click();
  await question.getByRole('alert').getByText('are being replaced already').waitFor();
  await question.getByRole('button', { name: 'Cancel' }).click();

  publish(fresh);
  await own.getByRole('button', { name: 'Check now' }).click();
  await own.getByRole('heading', { name: 'Records of former keys' }).waitFor();
  await own.getByText('New keys wait for their records.').waitFor({ state: 'detached' });
  const { formerKeys } = await domain();
  assert.deepEqual(formerKeys.map(({ name }) => name).toSorted(), old.map(({ name }) => name).toSorted());
  for (const { name } of old) await own.getByText(name, { exact: true }).waitFor();
  assert.equal(await own.getByText(/^Leave it until .*, then remove it\.$/).count(), old.length);
  await owner.accessible('the domains with former keys');
  await owner.open('settings?tab=audit');
  await page.getByRole('row', { name: /^New keys made for a domain, owner@acme.test/ }).waitFor();
  await owner.close();

  const member = await Visitor.of(service);
  await member.signIn(grace);
  await member.open('settings?tab=domains');
  await section(member.page).getByRole('link', { name: 'DMARC reports' }).waitFor();
  assert.equal(await member.page.getByRole('button', { name: 'New keys' }).count(), 0);
  await member.close();
});

test('a record that differs is told by what was found', async () => {
  const { id, records } = await domain();
  const [dmarc] = ofPurpose(records, 'dmarc');
  assert.ok(dmarc);
  dns.set(dmarc.name, `v=DMARC1; p=${HOSTILE}`);
  const owner = await Visitor.of(service);
  await owner.signIn(service.owner);
  await owner.open('settings?tab=domains');
  await section(owner.page).getByRole('button', { name: 'Check now' }).click();
  const item = section(owner.page).getByRole('listitem').filter({ hasText: 'Policy (DMARC)' });
  await item.getByText('Differs').waitFor();
  await item.getByText('p=<img src=x').waitFor();
  dns.set(dmarc.name);
  await service.api('GET', `/domains/${id}/verify`);
  await owner.close();
});

test('what is wrong with a record, and how the domain stands at Amazon SES, is said as the service says it', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  // a provider cannot be had in a test, nor every mistake that its sentence tells
  await page.route('**/domains/project/*', async (route) => {
    const answer = await route.fetch();
    const [shown] = await answer.json();
    const record = { type: 'CNAME', value: 'x.dkim.amazonses.com', required: false, found: [] };
    shown.records = [
      { ...shown.records[0], status: 'mismatch', found: ['v=DKIM1'], difference: `The key of \`${HOSTILE}\` is another one.` },
      { ...record, name: 'x._domainkey.acme.test', purpose: 'ses_dkim', status: 'missing', difference: 'There is no record.' },
      { ...record, name: 'default._bimi.acme.test', purpose: 'bimi', status: 'found', difference: null },
    ];
    const identity = { signedWith: 'own_key', error: null, checkedAt: new Date().toISOString() };
    shown.identities = [
      { ...identity, transport: 'ireland', status: 'verified' },
      { ...identity, transport: LONG, status: 'failed', signedWith: 'easy_dkim', error: HOSTILE },
    ];
    await route.fulfill({ response: answer, json: [shown] });
  });
  await owner.open('settings?tab=domains');
  const own = section(page);
  await own.getByText('The key of <img src=x').waitFor();
  await own.getByRole('listitem').filter({ hasText: 'Signature by Amazon SES' }).getByText('There is no record.').waitFor();
  await own.getByText('Logo beside your mail (BIMI)').waitFor();
  await own.getByRole('listitem').filter({ hasText: 'ireland' }).getByText('verified', { exact: true }).waitFor();
  await own.getByText('signed with keys of SES (Easy DKIM)').waitFor();
  await owner.accessible('a domain at Amazon SES');
  await owner.close();
});

test('what a domain has to publish for reports is said until they are asked for', async () => {
  const { id, records } = await domain();
  const [dmarc] = ofPurpose(records, 'dmarc');
  assert.ok(dmarc);
  const look = () => service.api('GET', `/domains/${id}/verify`);
  await look();
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('settings?tab=domains');
  await section(page).getByRole('link', { name: 'DMARC reports' }).click();
  await page.getByRole('heading', { level: 1, name: 'DMARC reports: acme.test' }).waitFor();
  await page.getByText('The last check found no record that receivers understand.').waitFor();
  await page.getByText('Publish this record. It changes nothing for your mail.').waitFor();
  await page.getByText('Publish the record above: its rua asks receivers').waitFor();
  assert.equal(await page.getByText(dmarc.value, { exact: true }).count(), 1);
  await page.getByRole('button', { name: 'Copy DMARC record: Value' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), dmarc.value);
  await owner.accessible('a domain without reports');

  dns.set(dmarc.name, 'v=DMARC1; p=none; rua=mailto:me@example.com; adkim=r');
  await look();
  await page.reload();
  const address = dmarc.value.split('rua=')[1] ?? '';
  await page.getByText(`v=DMARC1; p=none; rua=mailto:me@example.com,${address}; adkim=r`, { exact: true }).waitFor();
  await page.getByText('it differs in rua alone').waitFor();

  dns.set(dmarc.name, dmarc.value);
  await look();
  await page.reload();
  await page.getByText('none: they do nothing with it').waitFor();
  await page.getByText('Reports of at least 14 days are needed.').waitFor();
  await page.getByText('Your DMARC record asks for them.').waitFor();
  owner.expectFault(/404/);
  await owner.open('settings/domains/0199a2f0-0000-7000-8000-000000000000/dmarc');
  await page.getByRole('heading', { level: 1, name: 'There is no such domain' }).waitFor();
  await owner.close();
});

test('reports are summed by source, lead to a stricter policy, and names in them are text', async () => {
  const { id, records } = await domain();
  const [dmarc] = ofPurpose(records, 'dmarc');
  const [key] = ofPurpose(records, 'dkim');
  assert.ok(dmarc && key);
  dns.set(dmarc.name, dmarc.value);
  await service.api('GET', `/domains/${id}/verify`);
  const selector = key.name.split('.')[0] ?? '';
  const address = dmarc.value.split('rua=mailto:')[1] ?? '';
  const ours = { ip: '192.0.2.1', passes: true, selector };
  const about = { domain: 'acme.test' };
  const reports: Report[] = [
    { ...about, reporter: 'google.com', sender: 'google.com', id: 'g1', daysAgo: 20, sources: [{ ...ours, count: 40 }] },
    { ...about, reporter: 'google.com', sender: 'google.com', id: 'g2', daysAgo: 3, sources: [{ ...ours, count: 100 }, { ip: '198.51.100.7', count: 30, passes: false }] },
    { ...about, reporter: HOSTILE, id: 'h1', daysAgo: 3, sources: [{ ...ours, count: 20 }, { ip: '2001:db8::1', count: 10, passes: true }] },
  ];
  for (const one of reports) {
    const sender = one.sender ?? 'example.org';
    dns.set(sender, 'v=spf1 ip4:127.0.0.1 -all');
    await deliver(inbound, `reports@${sender}`, address, report(one));
  }

  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`settings/domains/${id}/dmarc`);
  await page.getByText('Your mail passes. Put this record in the place of the present one, so that receivers treat the rest as spam.').waitFor();
  await page.getByText(dmarc.value.replace('p=none', 'p=quarantine'), { exact: true }).waitFor();
  const totals = page.getByRole('region', { name: 'Mails', exact: true });
  await totals.getByText('200', { exact: true }).waitFor();
  // 170 of 200
  await totals.getByText('85%', { exact: true }).first().waitFor();
  await totals.getByText('A mail is aligned when DKIM or SPF passed').waitFor();
  const sources = page.getByRole('region', { name: 'Sources' });
  await sources.getByRole('row', { name: /192\.0\.2\.1 This service 160 100% 100% 0% acme\.test/ }).waitFor();
  await sources.getByRole('row', { name: /198\.51\.100\.7 Not aligned 30 0%/ }).waitFor();
  await sources.getByRole('row', { name: /2001:db8::1 Another one of yours 10 100%/ }).waitFor();
  const reporters = page.getByRole('region', { name: 'Who reports' });
  await reporters.getByRole('row', { name: /google\.com 2 170/ }).waitFor();
  await reporters.getByText('<img src=x onerror=alert(1)>').waitFor();
  await owner.accessible('the reports of a domain');

  await tabTo(page, page.getByLabel('Period'));
  await page.keyboard.press('ArrowUp');
  await totals.getByText('160', { exact: true }).waitFor();
  assert.match(page.url(), /days=7/);
  await page.reload();
  await totals.getByText('160', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Period').inputValue(), '7');
  await owner.close();

  const german = await Visitor.of(service);
  await german.signIn(service.owner);
  await german.page.evaluate(() => localStorage.setItem('mailwright.language', 'de'));
  await german.page.goto(`settings/domains/${id}/dmarc`);
  await german.page.getByRole('heading', { level: 1, name: 'DMARC-Berichte: acme.test' }).waitFor();
  await german.page.getByRole('row', { name: /192\.0\.2\.1 Dieser Dienst 160 100 %/ }).waitFor();
  await german.close();
});
