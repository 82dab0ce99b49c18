import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

let service: Service;

before(async () => {
  service = await Service.start();
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('10,000 rows are imported, with progress to the end and what failed', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => `person${index}@example.org,true,${index % 3 ? 'free' : 'pro'}`);
  rows[41] = 'nobody,true,pro';
  rows[42] = '=1+1,true,pro';
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts/import');
  const choose = page.getByLabel('Choose a CSV file');
  await choose.setInputFiles({ name: 'people.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF') });
  await page.getByText('This is no CSV file.').waitFor();
  const buffer = Buffer.from(['email,subscribed,plan', ...rows].join('\n'));
  await choose.setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
  await page.getByText(/people\.csv, /).waitFor();
  await page.getByRole('button', { name: /^(Start the import|Import 10,000 rows)$/ }).click();
  await page.waitForURL(/job=/);
  // the address shows it again
  await page.reload();
  await page.getByText('The import is complete').waitFor({ timeout: 120_000 });
  const figures = (await page.getByRole('main').textContent()) ?? '';
  assert.match(figures, /Rows10,000Created9,998Updated0Failed2/);
  await page.getByRole('cell', { name: 'nobody' }).waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  const stream = await (await download).createReadStream();
  const text = Buffer.concat(await stream.toArray()).toString();
  assert.match(text, /^row,email,error\r?\n43,nobody,/);
  assert.match(text, /\n44,'=1\+1,/, 'no cell is a formula');
  await page.getByRole('link', { name: 'Show contacts' }).click();
  await page.getByText('9,998 in all').waitFor();
  await owner.close();
});

test('a file that cannot be imported says why', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts/import');
  await page.getByLabel('Choose a CSV file').setInputFiles({ name: 'x.csv', mimeType: 'text/csv', buffer: Buffer.from('name\nAda\n') });
  await page.getByRole('alert').getByText(/email/).waitFor();
  await page.getByRole('button', { name: /^Import/ }).and(page.locator(':disabled')).waitFor();
  await page.getByRole('button', { name: 'Another file' }).click();
  await page.getByLabel('Choose a CSV file').waitFor();
  await owner.close();
});

test('what was found for one file says nothing about the next one', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts/import');
  const choose = (name: string, text: string) =>
    page.getByLabel('Choose a CSV file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
  await choose('first.csv', 'email,name\nada@example.org,Ada\ngrace@example.org,Grace\n');
  await page.getByRole('button', { name: 'Import 2 rows' }).waitFor();
  await page.getByRole('button', { name: 'Another file' }).click();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/contacts/import/preview', async (route) => {
    await released;
    await route.continue();
  });
  await choose('second.csv', 'email,company\nalan@example.org,Bletchley\n');
  await page.getByRole('button', { name: 'Start the import' }).and(page.locator(':disabled')).waitFor();
  release();
  await page.getByRole('button', { name: 'Import 1 row' }).waitFor();
  await page.unroute('**/contacts/import/preview');
  await owner.close();
});

test('columns that become the same can be told apart where they are chosen', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('contacts/import');
  const choose = (text: string) =>
    page.getByLabel('Choose a CSV file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await choose('Email Address,Name,Email Address\nada@example.org,Ada,ada@work.example\n');
  const alert = page.getByRole('alert');
  // the service speaks of renaming, and the list below does without
  await alert.getByText(/Rename "Email Address" to email/).waitFor();
  await page.getByText(/choose “Address” for it under “Becomes”/).waitFor();
  const becomes = page.getByLabel('Email Address becomes');
  owner.expectFault(/422/);
  await becomes.first().selectOption({ label: 'Address' });
  await alert.getByText(/More than one column becomes “Address”: “Email Address”, “Email Address”\. They have the same name/).waitFor();
  await owner.accessible('columns that do not go together');
  // the table is still there
  await becomes.last().selectOption({ label: 'Data field' });
  await alert.getByText(/^No column becomes “Address”/).waitFor();
  await page.getByLabel('Name becomes').selectOption({ label: 'Address' });
  await page.getByText('1 row will fail:').waitFor();

  await page.getByRole('button', { name: 'Another file' }).click();
  await choose('email,second\nada@example.org,ada@work.example\n');
  // what a field is called in another case is the same column
  await page.getByLabel('Field for second').fill('EMAIL');
  await page.getByLabel('Field for second').press('Enter');
  const rows = page.getByRole('region', { name: 'The first rows, as they become contacts' });
  await rows.getByRole('cell', { name: 'ada@work.example', exact: true }).waitFor();
  assert.equal(await page.getByLabel('email becomes').inputValue(), '');
  assert.equal(await page.getByLabel('second becomes').inputValue(), 'email');
  await owner.close();
});
