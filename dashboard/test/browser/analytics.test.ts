import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { HOSTILE, open, send } from './insight.ts';
import { Service } from './service.ts';

let service: Service;
const EVENT = `odd ${HOSTILE}`;

before(async () => {
  service = await Service.start({ MAILWRIGHT_TRACKING_SETTLE_MS: '0' });
  for (let mail = 0; mail < 4; mail += 1) {
    const id = await send(service, `reader${mail}@${mail < 3 ? 'one' : 'two'}.test`, 'News');
    if (mail === 0) await open(service, id);
  }
  for (let time = 0; time < 3; time += 1) {
    await service.api('POST', '/v1/track', { key: service.project.public, body: { email: 'reader0@one.test', event: EVENT } });
  }
  await service.until('the figures are there', async () => {
    const days = await service.api('GET', '/analytics/timeseries');
    return days.at(-1).sent === 4 && days.at(-1).opens === 1;
  });
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('the figures are those of what was sent, by day, domain and event, and are saved as CSV', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('analytics');
  const measures = page.getByRole('group', { name: 'Measure to draw' });
  await measures.getByRole('button', { name: /^Sent 4/ }).waitFor();
  await measures.getByRole('button', { name: /^Open rate 25% 1 mail opened/ }).click();
  await page.waitForURL(/measure=openRate/);
  const chart = page.getByRole('slider', { name: /Open rate by day/ });
  assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /This period 25%, Period before –/);
  // the arrow keys read the values, Enter leads to the day's entries
  await chart.focus();
  await page.keyboard.press('ArrowLeft');
  assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /This period –/);
  await page.keyboard.press('End');
  await page.getByText('Show the figures as a table').click();
  await page.getByRole('region', { name: 'Open rate by day' }).getByRole('cell', { name: '25%' }).waitFor();

  const domains = page.getByRole('region', { name: 'Recipient domains' });
  const one = domains.getByRole('row').filter({ hasText: 'one.test' });
  assert.match((await one.textContent()) ?? '', /one\.test33/);
  const events = page.getByRole('region', { name: 'Events' });
  await events.getByRole('row').filter({ hasText: EVENT }).getByRole('link', { name: '3' }).waitFor();

  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV: figures by day' }).click();
  const file = await saved;
  assert.match(file.suggestedFilename(), /^timeseries-.*\.csv$/);
  const rows = (await readFile(await file.path(), 'utf8')).trim().split('\n');
  assert.equal(rows[0]?.trim(), 'date,day,emails,sent,delivered,opens,clicks,bounces,complaints,unsubscribes,received,events');
  assert.equal(rows.length, 31);
  assert.match(rows.at(-1) ?? '', /,4,4,0,1,0,0,0,0,0,/);

  await chart.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/activity\?.*types=email\.opened/);
  await page.getByText('reader0@one.test opened').waitFor();
  await owner.close();
});

test('a period is chosen by name or by days, and stays in the address', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('analytics');
  await page.getByLabel('Period', { exact: true }).selectOption('Any days…');
  await page.getByLabel('To', { exact: true }).fill('2026-01-31');
  await page.getByLabel('From', { exact: true }).fill('2026-01-01');
  await page.waitForURL(/range=2026-01-01_2026-01-31/);
  const measures = page.getByRole('group', { name: 'Measure to draw' });
  await measures.getByRole('button', { name: /^Sent 0/ }).waitFor();
  await page.getByText('No campaign was sent in this period.').waitFor();
  await page.getByLabel('Compare with the period before').uncheck();
  await page.waitForURL(/alone=1/);
  await page.reload();
  await measures.getByRole('button', { name: /^Sent 0/ }).waitFor();
  assert.equal(await page.getByLabel('Compare with the period before').isChecked(), false);
  await owner.close();
});

test('the analytics are in German for who reads German', async () => {
  const erika = await Visitor.of(service, { language: 'de-DE' });
  const { page } = erika;
  await page.goto('auth/login');
  await page.getByLabel('E-Mail-Adresse').fill(service.owner.email);
  await page.getByLabel('Passwort', { exact: true }).fill(service.owner.password);
  await page.getByRole('button', { name: 'Anmelden' }).click();
  await page.getByRole('navigation', { name: 'Hauptnavigation' }).waitFor();
  await erika.open('analytics');
  await page.getByRole('group', { name: 'Gezeichneter Wert' }).getByRole('button', { name: /^Öffnungsrate 25\s%/ }).waitFor();
  await page.getByRole('region', { name: 'Domains der Empfänger' }).getByText('two.test').waitFor();
  await erika.accessible('the German analytics');
  await erika.close();
});
