import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

/** A name that would do harm if it were taken for anything but text. */
const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;

let service: Service;

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

/** Imports contacts whose addresses begin with a word and a number. */
async function people(word: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => `${word}${String(index).padStart(4, '0')}@example.org,true,${index % 2 ? 'free' : 'pro'}`);
  const form = new FormData();
  form.set('file', new Blob([['email,subscribed,plan', ...rows].join('\n')], { type: 'text/csv' }), 'people.csv');
  const { jobId } = await service.api('POST', '/contacts/import', { form });
  await service.until('the import is over', async () => (await service.api('GET', `/contacts/import/${jobId}`)).state === 'completed');
}

test('a contact is added, edited, found, unsubscribed and deleted by keyboard alone', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  const { keyboard } = page;
  await owner.signIn(service.owner);
  await owner.open('contacts');
  await page.getByText('No contacts yet').waitFor();
  await owner.accessible('no contacts');
  await keyboard.press('n');
  await keyboard.press('c');
  await page.getByRole('dialog', { name: 'Add contact' }).waitFor();
  await keyboard.type('ada@example.org');
  await keyboard.press('Tab');
  await keyboard.press('Space');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'ada@example.org' }).waitFor();
  // a field of data, by its name and Enter
  await page.getByRole('combobox', { name: 'Add field' }).focus();
  await keyboard.type('score');
  await keyboard.press('Enter');
  const value = page.getByRole('textbox', { name: 'score' });
  await value.waitFor();
  await page.getByRole('combobox', { name: 'Type of score' }).selectOption('Number');
  await value.focus();
  await keyboard.type('4x');
  await keyboard.press('Enter');
  await page.getByText('This is not a number.').waitFor();
  await keyboard.press('Backspace');
  await keyboard.type('2');
  await keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();
  // found in the list, as one types
  await keyboard.press('Escape');
  await page.getByRole('heading', { level: 1 }).click();
  await keyboard.press('g');
  await keyboard.press('c');
  await page.getByRole('row', { name: 'ada@example.org' }).waitFor();
  await keyboard.press('/');
  await keyboard.type('ad');
  await page.waitForURL(/q=ad/);
  const row = page.getByRole('row', { name: 'ada@example.org' });
  await row.waitFor();
  assert.match((await row.textContent()) ?? '', /subscribed.*42/);
  // selected and unsubscribed
  await row.focus();
  await keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.getByRole('button', { name: 'Unsubscribe', exact: true }).press('Enter');
  await page.getByText('1 contact was unsubscribed.').waitFor();
  await row.getByText('unsubscribed', { exact: true }).waitFor();
  const [{ id }] = (await service.api('GET', '/contacts?search=ada')).data;
  assert.equal((await service.api('GET', `/contacts/${id}`)).subscribed, false);
  assert.deepEqual((await service.api('GET', `/contacts/${id}`)).data, { score: 42 });
  // deleted
  await row.focus();
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'ada@example.org' }).waitFor();
  await page.getByRole('button', { name: 'More' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete contact…' }).press('Enter');
  await page.getByRole('alertdialog').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByText('No contacts yet').waitFor();
  await owner.close();
});

test('contacts are changed in bulk, and the outcome is there after a reload', async () => {
  await people('bulk', 30);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts?q=bulk');
  await page.getByText('30 in all').waitFor();
  const first = page.getByRole('row', { name: 'bulk0029@example.org' });
  await first.getByRole('checkbox').check();
  await page.getByRole('row', { name: 'bulk0025@example.org' }).click({ modifiers: ['Shift'] });
  await page.getByText('5 selected').waitFor();
  await page.getByRole('button', { name: 'Unsubscribe', exact: true }).click();
  await page.getByText('5 contacts were unsubscribed.').waitFor();
  await page.reload();
  await page.getByText('5 contacts were unsubscribed.').waitFor();
  await page.getByRole('combobox', { name: 'Subscription' }).selectOption('Unsubscribed');
  await page.getByText('5 in all').waitFor();
  await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
  await page.getByText('5 selected').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  assert.equal((await download).suggestedFilename(), 'contacts.csv');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('5 contacts were deleted.').waitFor();
  assert.equal((await service.api('GET', '/contacts?search=bulk')).total, 25);
  await owner.close();
});

test('a list of 3,000 contacts is gone through to its end by keyboard', async () => {
  await people('long', 3_000);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts?q=long&sort=email');
  await page.getByRole('row', { name: 'long0000@example.org' }).focus();
  const end = page.getByText('All 3,000 shown');
  for (let press = 0; press < 200 && !(await end.isVisible()); press += 1) {
    await page.keyboard.press('End');
    // the row that has the focus is loaded before the next key
    await page.locator('[role=row]:focus:not([aria-label="Loading more…"])').waitFor();
  }
  await end.waitFor();
  await page.keyboard.press('End');
  await page.getByRole('row', { name: 'long2999@example.org' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Home');
  await page.getByRole('row', { name: 'long0000@example.org' }).and(page.locator(':focus')).waitFor();
  await owner.close();
});

test('what matches is selected until something else is searched for', async () => {
  await people('match', 250);
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/^https?:\/\/[^/]+\/contacts\?.*cursor=/, async (route) => {
    await released;
    await route.continue().catch(() => undefined);
  });
  await owner.open('contacts?q=match&sort=email');
  await page.getByRole('row', { name: 'match0000@example.org' }).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Select more that match' }).click();
  await page.getByText('100 selected').waitFor();
  await page.getByRole('searchbox').fill('match024');
  await page.getByText('10 in all').waitFor();
  release();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal(await page.getByText(/^[\d,]+ selected$/).count(), 0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await owner.close();
});

test('what others wrote is text, the timeline is live, and consent is shown', async () => {
  const made = await service.api('POST', '/contacts', {
    body: { email: 'mallory@example.org', data: { [HOSTILE]: HOSTILE, list: [HOSTILE] } },
  });
  await service.api('POST', '/topics', { body: { name: 'Product news' } });
  const owner = await Visitor.of(service, { language: 'de-DE' });
  const { page } = owner;
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).waitFor();
  await owner.open(`contacts/${made.id}`);
  await page.getByRole('textbox', { name: HOSTILE }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: HOSTILE }).inputValue(), HOSTILE);
  await page.getByText('Live', { exact: true }).waitFor();
  await service.api('POST', '/v1/track', { body: { email: 'mallory@example.org', event: HOSTILE, data: { note: HOSTILE } } });
  await page.getByRole('log').getByText(HOSTILE).first().waitFor();
  await owner.accessible('a contact, in German');
  await page.getByRole('link', { name: 'Einwilligung' }).click();
  const topic = page.getByRole('switch', { name: 'Product news' });
  await topic.click();
  await page.getByText('Nicht mehr bei Product news.').waitFor();
  await page.getByRole('cell', { name: /Thema abgewählt/ }).waitFor();
  await owner.accessible('consent');
  await page.getByRole('switch', { name: 'Bekommt Marketing-Mails' }).click();
  await page.getByText('mallory@example.org ist abgemeldet.').waitFor();
  await page.getByRole('cell', { name: 'im Dashboard' }).first().waitFor();
  await owner.open('contacts');
  await page.getByRole('row', { name: 'mallory@example.org' }).waitFor();
  await owner.close();
});

test('a person is erased by who proves to be there', async () => {
  const made = await service.api('POST', '/contacts', { body: { email: 'gone@example.org' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`contacts/${made.id}`);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Erase this person…' }).click();
  await owner.accessible('erasing');
  await page.getByLabel('Type “gone@example.org” to confirm').fill('gone@example.org');
  await page.getByRole('button', { name: 'Erase', exact: true }).click();
  await page.getByText('gone@example.org is being erased.').waitFor();
  await page.getByRole('heading', { name: 'Contacts' }).waitFor();
  assert.equal((await service.api('GET', '/contacts?search=gone')).total, 0);
  await owner.close();
});
