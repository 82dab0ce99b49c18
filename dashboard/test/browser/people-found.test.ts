import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

let service: Service;

before(async () => {
  service = await Service.start();
  for (let index = 0; index < 12; index += 1) {
    await service.api('POST', '/contacts', { body: { email: `p${index}@example.org`, data: { plan: index % 3 ? 'free' : 'pro', score: index } } });
  }
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('contacts are found by a condition, which becomes a segment, and a bulk change is undone', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts');
  await page.getByText('12 in all').waitFor();
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  const field = page.getByRole('combobox', { name: 'Field: not filled in yet' });
  await field.fill('plan');
  await page.getByRole('option', { name: /^plan/ }).click();
  const value = page.getByRole('combobox', { name: 'Value: plan', exact: true });
  await value.click();
  await page.getByRole('option', { name: 'pro' }).click();
  await page.getByText('4 contacts', { exact: true }).waitFor();
  await owner.accessible('a condition for the list');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('Contacts where plan is “pro”.').waitFor();
  await page.getByText('4 in all').waitFor();
  // the address leads others to the same rows
  await page.reload();
  await page.getByText('4 in all').waitFor();
  await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
  await page.getByRole('button', { name: 'Unsubscribe', exact: true }).click();
  await page.getByText('4 contacts were unsubscribed.').waitFor();
  assert.equal((await service.api('GET', '/contacts?subscribed=false')).total, 4);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('4 contacts were subscribed.').waitFor();
  assert.equal((await service.api('GET', '/contacts?subscribed=false')).total, 0);
  await page.getByRole('link', { name: 'Save as segment' }).click();
  await page.getByText('4 contacts', { exact: true }).waitFor();
  await page.getByLabel('Name', { exact: true }).fill('On Pro');
  await page.getByRole('button', { name: 'Create segment' }).click();
  await page.getByRole('heading', { name: 'On Pro' }).waitFor();
  await page.getByRole('cell', { name: 'p9@example.org' }).waitFor();
  await owner.close();
});

test('a contact’s page says which segments it is in, and why it gets no mail', async () => {
  const [contact] = (await service.api('GET', '/contacts?search=p9@')).data;
  await service.api('POST', '/segments', { body: { name: 'High scores', condition: { logic: 'AND', groups: [{ filters: [{ field: 'data.score', operator: 'greaterThan', value: 8 }] }] } } });
  await service.api('POST', '/suppressions/addresses', { body: { email: 'p9@example.org', reason: 'complaint' } });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`contacts/${contact.id}?tab=places`);
  await page.getByRole('link', { name: 'High scores' }).waitFor();
  await page.getByText('The contact has not been in a workflow.').waitFor();
  await owner.accessible('segments and workflows of a contact');
  await page.getByRole('link', { name: 'Mails', exact: true }).click();
  await page.getByText('Marketing mail is held back').waitFor();
  await page.getByText('The person reported mail as spam.').waitFor();
  await owner.accessible('what keeps mail back');
  await owner.close();
});

test('columns of a file get their meaning before it is imported', async () => {
  const rows = Array.from({ length: 25 }, (_, index) => `Person ${index},q${index}@example.org,${index % 2 ? 'Gold' : 'Silver'},secret`);
  rows[3] = 'Nobody,nobody,Gold,secret';
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts/import');
  const buffer = Buffer.from(['Full name,E-Mail,Tier,Notes', ...rows].join('\n'));
  await page.getByLabel('Choose a CSV file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
  const becomes = (column: string) => page.getByRole('combobox', { name: `${column} becomes` });
  await becomes('E-Mail').waitFor();
  assert.equal(await becomes('E-Mail').inputValue(), 'email', 'the column that holds addresses is guessed');
  // the second change is made before the service has said what it makes of the first
  const PREVIEW = '**/contacts/import/preview';
  let goOn = () => {};
  const changed = new Promise<void>((done) => {
    goOn = done;
  });
  await page.route(PREVIEW, async (route) => {
    await changed;
    // a question that the page no longer asks cannot go on
    await route.continue().catch(() => undefined);
  });
  await becomes('Notes').selectOption('Left out');
  const name = page.getByRole('textbox', { name: 'Field for Tier' });
  await name.fill('plan');
  await name.press('Enter');
  goOn();
  await page.getByText('A new field of data:').waitFor();
  await page.getByText('1 row will fail:').waitFor();
  await owner.accessible('columns of an import');
  await page.getByRole('button', { name: 'Import 24 rows' }).click();
  await page.getByText('The import is complete').waitFor();
  const [found] = (await service.api('GET', '/contacts?search=q1@')).data;
  assert.deepEqual(found.data, { 'full name': 'Person 1', plan: 'Gold' });
  await page.getByRole('button', { name: 'Import another file' }).click();
  await page.getByRole('region', { name: 'Recent imports' }).getByText('complete').waitFor();
  await owner.close();
});
