import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, Visitor } from './browser.ts';
import { HOSTILE } from './insight.ts';
import { Service } from './service.ts';

/** The browser of a person, as far as a service can tell. */
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const BODY = `<p>Hello {{name ?? "there"}}, here is <a href="https://acme.test/news">the news</a> and
<a href="https://acme.test/shop">the shop</a>.</p>`;
let service: Service;
const segments: Record<string, string> = {};

async function add(count: number, make: (index: number) => Record<string, unknown>): Promise<void> {
  for (let from = 0; from < count; from += 20) {
    const some = Array.from({ length: Math.min(20, count - from) }, (_, index) => make(from + index));
    await Promise.all(some.map((body) => service.api('POST', '/contacts', { body })));
  }
}

before(async () => {
  service = await Service.start({ MAILWRIGHT_TRACKING_SETTLE_MS: '0' });
  // of 200 on the plan pro, ten are not subscribed, and five are competitors
  await add(200, (index) => ({
    email: `pro${index}@example.org`,
    subscribed: index >= 10,
    data: { plan: 'pro', name: index === 50 ? HOSTILE : `Pro ${index}`, ...(index >= 195 ? { rival: true } : {}) },
  }));
  await add(60, (index) => ({ email: `free${index}@example.org`, subscribed: true, data: { plan: 'free' } }));
  await service.api('POST', '/suppressions/addresses', { body: { email: 'pro100@example.org' } });
  const rule = (field: string, value: unknown) => ({ logic: 'AND', groups: [{ filters: [{ field, operator: 'equals', value }] }] });
  segments.pro = (await service.api('POST', '/segments', { body: { name: 'Pros', condition: rule('data.plan', 'pro') } })).id;
  segments.rivals = (await service.api('POST', '/segments', { body: { name: `Rivals ${HOSTILE}`, condition: rule('data.rival', true) } })).id;
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

const idIn = (page: Page) => /campaigns\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
const tabs = (page: Page) => page.getByRole('navigation', { name: 'Parts of the campaign' });
const part = (page: Page, name: string) => page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name, exact: true }) });
const reach = (page: Page) => page.getByRole('region', { name: 'Whom it reaches' });

async function reaches(page: Page, recipients: number): Promise<void> {
  await reach(page).getByText(`Gets the mail${recipients}`, { exact: true }).waitFor();
}

async function draft(fields: Record<string, unknown> = {}): Promise<string> {
  const body = { name: 'Spring', subject: 'Hello', body: BODY, from: 'news@acme.test', audienceType: 'ALL', ...fields };
  return (await service.api('POST', '/campaigns', { body })).data.id;
}

test('a campaign is written, gets its audience, is reviewed, sent, and accounted for to the last contact', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('campaigns');
  await page.getByText('No campaigns yet').waitFor();
  await owner.accessible('no campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  await page.getByRole('radio', { name: /^HTML/ }).check();
  await page.getByLabel('Name', { exact: true }).fill(`News ${HOSTILE}`);
  await page.getByLabel('Subject').fill('For {{name ?? "you"}}');
  await owner.accessible('a new campaign');
  await page.getByRole('button', { name: 'Create and write' }).click();

  const code = page.getByRole('textbox', { name: 'HTML of the mail' });
  await code.click();
  await page.keyboard.press('Control+a');
  await page.evaluate((text) => navigator.clipboard.writeText(text), BODY);
  await page.keyboard.press('Control+v');
  await page.keyboard.press('Control+s');
  await page.getByText(/^saved/).waitFor();
  await owner.accessible('a campaign that is written');
  const id = idIn(page);
  assert.equal((await service.api('GET', `/campaigns/${id}`)).body, BODY);

  // what is written stays while another part is looked at
  await page.getByLabel('Subject', { exact: true }).fill('News for {{name ?? "you"}}');
  await tabs(page).getByRole('link', { name: 'Sender and type' }).click();
  await page.getByLabel('Sender’s name').fill('The Shop');
  await page.getByLabel('Description').fill('For all who pay');
  await page.getByLabel('Opens and clicks').selectOption('Tracked');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved', { exact: true }).first().waitFor();
  await owner.accessible('sender and type');
  await tabs(page).getByRole('link', { name: 'Audience' }).click();
  await reaches(page, 249);
  await page.getByRole('radio', { name: 'A segment' }).check();
  await page.getByLabel('Segment', { exact: true }).selectOption({ label: 'Pros (200)' });
  await reaches(page, 189);
  await reach(page).getByText('10 not subscribed, 1 suppressed').waitFor();
  await page.getByRole('combobox', { name: 'Leave out the members of' }).click();
  await page.getByRole('listbox').getByRole('option', { name: /^Rivals/ }).click();
  await reaches(page, 184);
  await owner.accessible('the audience');

  await tabs(page).getByRole('link', { name: 'Review and send' }).click();
  await page.getByText('What you wrote last is not saved.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('What you wrote last is not saved.').waitFor({ state: 'detached' });
  await page.getByText('News for Pro', { exact: false }).first().waitFor();
  await page.frameLocator('iframe[title="The mail of a recipient"]').getByText(/Hello Pro/).waitFor();
  const problems = part(page, 'What would go wrong');
  await owner.accessible('the review');
  await problems.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save and send' }).click();
  await page.getByText('A test is on its way to owner@acme.test.').waitFor();
  await problems.getByRole('button', { name: 'Send a test' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send to 184 people' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Send now' }).click();

  const ledger = page.getByRole('group', { name: 'Ledger' });
  await page.getByText('Sent', { exact: true }).first().waitFor();
  await ledger.getByRole('link', { name: '184 accepted' }).waitFor();
  const { equation } = await service.api('GET', `/campaigns/${id}/ledger`);
  assert.equal(equation.balanced, true);
  assert.match((await ledger.textContent()) ?? '', new RegExp(`^${equation.audience} = 184 accepted`));

  await follow(id, 'pro50@example.org');
  await page.reload();
  const links = page.getByRole('region', { name: 'Links' }).first();
  await links.getByRole('row', { name: /the news .*1 1/ }).waitFor();
  const followed = page.frameLocator('iframe[title="Heat map"]').getByRole('link', { name: 'the news' });
  const badge = await followed.evaluate((link) => getComputedStyle(link, '::after').content);
  assert.equal(badge, '"1 · 100%"');
  await page.getByRole('link', { name: '1 Clicked' }).waitFor();
  await owner.accessible('the results');

  await ledger.getByRole('link', { name: '184 accepted' }).click();
  const grid = page.getByRole('grid', { name: 'Ledger: accepted' });
  await grid.getByRole('row', { name: /pro\d+@example\.org/ }).first().waitFor();
  await owner.accessible('the ledger');
  await grid.getByRole('row', { name: /pro\d+@example\.org/ }).first().click();
  await page.getByRole('heading', { level: 1, name: /^News for/ }).waitFor();
  await page.getByRole('link', { name: 'Open the campaign' }).click();
  await page.getByRole('link', { name: '1 Clicked' }).click();
  await page.waitForURL(/activity.*campaign=/);
  await page.getByText('pro50@example.org').first().waitFor();
  await owner.close();
});

/** Follows the first link of a campaign's mail as a person does, and waits until it counts. */
async function follow(campaign: string, to: string): Promise<void> {
  const contact = (await service.api('GET', `/contacts?search=${to}`)).data[0].id;
  const { data } = await service.api('GET', `/emails?contactId=${contact}`);
  // who clicks at once is taken for a machine
  await service.until('a person had the time to read', async () => Date.now() - Date.parse(data[0].sentAt) > 3_000);
  const { html } = await service.api('GET', `/mailbox/${data[0].id}`);
  const link = /href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  await fetch(link, { headers: { 'user-agent': FIREFOX }, redirect: 'manual' });
  await service.until('the click counts', async () => (await service.api('GET', `/campaigns/${campaign}/stats`)).clickedCount === 1);
}

test('a condition made in place is the audience, by keyboard, and is scheduled and taken back', async () => {
  const template = await service.api('POST', '/templates', {
    body: { name: 'Monthly', subject: 'Monthly', from: 'news@acme.test', fromName: 'News', type: 'MARKETING', mjml: '<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{city}}</mj-text></mj-column></mj-section></mj-body></mjml>' },
  });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('campaigns/create');
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  // from the chosen start, the arrows lead to the template
  await page.getByRole('radio', { name: /^Blank/ }).focus();
  await press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown');
  await press('Tab');
  await page.keyboard.type('Month');
  await page.getByRole('option', { name: /Monthly/ }).waitFor();
  await press('Enter');
  await page.waitForFunction(() => document.activeElement instanceof HTMLInputElement && document.activeElement.value === 'Monthly');
  await press('Tab');
  await page.keyboard.type('By keyboard');
  await press('Enter');
  await tabs(page).waitFor();
  const id = idIn(page);
  const made = await service.api('GET', `/campaigns/${id}`);
  assert.equal(made.name, 'By keyboard');
  assert.equal(made.fromName, 'News');
  assert.match(made.mjml, /Hello \{\{city\}\}/);
  assert.ok(template.id);

  await tabs(page).getByRole('link', { name: 'Audience' }).focus();
  await press('Enter');
  await page.getByRole('radio', { name: 'All contacts' }).focus();
  await press('ArrowDown', 'ArrowDown');
  await page.getByText('Not complete').waitFor();
  await page.getByRole('combobox', { name: 'Field' }).focus();
  await page.keyboard.type('plan');
  await page.getByRole('option', { name: /plan/ }).first().waitFor();
  await press('Enter');
  await page.getByRole('combobox', { name: 'Value: plan', exact: true }).focus();
  await page.keyboard.type('free');
  await reaches(page, 60);
  const { audienceCondition } = await service.api('GET', `/campaigns/${id}`);
  assert.deepEqual(audienceCondition.groups[0].filters[0], { field: 'data.plan', operator: 'equals', value: 'free' });
  await owner.accessible('the audience with a condition');

  await tabs(page).getByRole('link', { name: 'Review and send' }).focus();
  await press('Enter');
  const problems = part(page, 'What would go wrong');
  await problems.getByText(/60 have no value for city/).waitFor();
  await page.getByRole('button', { name: 'Tomorrow, 9:00' }).focus();
  await press('Enter');
  await page.getByRole('button', { name: 'Schedule', exact: true }).focus();
  await press('Enter');
  await page.getByText(/^leaves/).waitFor();
  const planned = await service.api('GET', `/campaigns/${id}`);
  assert.equal(planned.status, 'SCHEDULED');
  await tabs(page).getByRole('link', { name: 'Audience' }).click();
  await page.getByText('The audience of a scheduled campaign stays as it is.').waitFor();
  await page.getByRole('button', { name: 'Back to draft' }).click();
  await page.getByRole('radio', { name: 'A condition' }).waitFor();
  assert.equal((await service.api('GET', `/campaigns/${id}`)).status, 'DRAFT');
  await owner.close();
});

test('a former version is compared and restored, and a copy is made and deleted, in German', async () => {
  const id = await draft({ name: 'Fassungen', subject: 'Zuerst', body: '<p>The first words</p>' });
  await service.api('PUT', `/campaigns/${id}`, { body: { subject: 'Danach', body: '<p>The second words</p>' } });
  const owner = await Visitor.of(service, { language: 'de-DE' });
  const { page } = owner;
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).waitFor();
  await owner.open(`campaigns/${id}?tab=versions`);
  await page.getByRole('button', { name: 'Mit Version 1 vergleichen' }).click();
  await page.frameLocator('iframe[title="Version 1"]').getByText('The first words').waitFor();
  await page.frameLocator('iframe[title="Aktuelle Version"]').getByText('The second words').waitFor();
  await page.getByText('Betreff damals').waitFor();
  await page.getByRole('button', { name: 'Version 1 wiederherstellen' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Wiederherstellen' }).click();
  await page.getByRole('button', { name: 'Mit Version 2 vergleichen' }).waitFor();
  const restored = await service.api('GET', `/campaigns/${id}`);
  assert.equal(restored.subject, 'Zuerst');
  await page.getByRole('link', { name: 'Schreiben' }).click();
  await page.getByRole('textbox', { name: 'HTML der Mail' }).getByText('The first words').waitFor();

  await page.getByRole('button', { name: 'Mehr', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Duplizieren' }).click();
  await page.getByText('Die Kampagne wurde in einen Entwurf kopiert.').waitFor();
  await page.waitForURL((url) => /campaigns\/[0-9a-f-]{36}/.test(url.pathname) && !url.pathname.includes(id));
  await page.getByRole('button', { name: 'Mehr', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Löschen' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Löschen' }).click();
  await page.getByRole('heading', { level: 1, name: 'Kampagnen' }).waitFor();
  await owner.accessible('the list in German');
  await page.getByRole('searchbox', { name: 'Kampagnen suchen' }).fill('gibt es nicht');
  await page.getByText('Keine Kampagne passt.').waitFor();
  await page.getByRole('button', { name: 'Filter entfernen' }).click();
  await page.getByRole('link', { name: 'Fassungen' }).first().waitFor();
  // a page that is not there any more leads to the last one
  await owner.open('campaigns?page=9');
  await page.getByRole('link', { name: 'Fassungen' }).first().waitFor();
  await owner.close();
});
