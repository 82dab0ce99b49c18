import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Service } from './service.ts';

/** A name that would do harm if it were taken for anything but text. */
const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;

let service: Service;

before(async () => {
  service = await Service.start();
  const rows = Array.from({ length: 40 }, (_, index) => `p${index}@example.org,${index % 4 ? 'free' : 'pro'},${index}`);
  const form = new FormData();
  form.set('file', new Blob([['email,plan,score', ...rows].join('\n')], { type: 'text/csv' }), 'people.csv');
  const { jobId } = await service.api('POST', '/contacts/import', { form });
  await service.until('the import is over', async () => (await service.api('GET', `/contacts/import/${jobId}`)).state === 'completed');
  for (const number of [1, 2, 5]) await service.api('POST', '/v1/track', { body: { email: `p${number}@example.org`, event: 'login' } });
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

test('a segment is made of nested conditions by keyboard, and has the right members', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  const { keyboard } = page;
  await owner.signIn(service.owner);
  await owner.open('segments');
  await page.getByText('No segments yet').waitFor();
  await owner.accessible('no segments');
  await page.getByRole('link', { name: 'New segment' }).first().press('Enter');
  await page.getByLabel('Name', { exact: true }).fill('VIP & friends');
  await page.getByText('segment.vip-friends.entry').waitFor();
  // plan is pro
  const field = page.getByRole('combobox', { name: 'Field: not filled in yet' });
  await field.focus();
  await keyboard.type('plan');
  await page.getByRole('option', { name: /^plan/ }).waitFor();
  await keyboard.press('Enter');
  await page.getByRole('combobox', { name: 'Value: plan', exact: true }).focus();
  await keyboard.type('pro');
  // Enter goes on to the next condition: score at least 20
  await keyboard.press('Enter');
  await page.getByRole('combobox', { name: 'Field: not filled in yet' }).and(page.locator(':focus')).waitFor();
  await keyboard.type('score');
  await page.getByRole('option', { name: /^score/ }).waitFor();
  await keyboard.press('Enter');
  await page.getByRole('combobox', { name: 'Operator: score' }).selectOption('is at least');
  await page.getByRole('spinbutton', { name: 'Value: score', exact: true }).fill('20');
  // or, in a group of its own: signed in lately
  await page.getByRole('button', { name: 'Make a group of: plan is “pro”' }).press('Enter');
  const inner = page.getByRole('group', { name: 'Group, level 2' });
  await inner.getByRole('combobox', { name: 'Field: not filled in yet' }).focus();
  await keyboard.type('login');
  await page.getByRole('option', { name: 'Event login', exact: true }).waitFor();
  await keyboard.press('Enter');
  await page.getByText('Contacts where (plan is “pro” or Event login at least once) and score is at least 20.').waitFor();
  await page.getByRole('button', { name: 'Create segment' }).press('Enter');
  await page.getByRole('heading', { name: 'VIP & friends' }).waitFor();
  // 20, 24, 28, 32, 36 are on Pro; those who signed in have fewer points
  await page.getByRole('cell', { name: 'p36@example.org' }).waitFor();
  assert.equal(await page.getByRole('link', { name: /@example\.org$/ }).count(), 5);
  // what is not filled in is marked, and what is wrong is said where it is
  await page.getByRole('link', { name: 'Condition' }).click();
  await page.getByRole('combobox', { name: 'How the conditions are joined' }).first().selectOption('Any of these holds');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('cell', { name: 'p1@example.org', exact: true }).waitFor();
  const [segment] = await service.api('GET', '/segments');
  assert.equal(segment.memberCount, 10 + 3 + 15, 'ten on Pro, three who signed in, and fifteen others with many points');
  await owner.close();
});

test('a refusal is shown at its condition', async () => {
  const made = await service.api('POST', '/segments', {
    body: { name: HOSTILE, condition: { logic: 'AND', groups: [{ filters: [{ field: 'createdAt', operator: 'within', value: 3, unit: 'days' }, { field: 'data.score', operator: 'greaterThan', value: 3 }] }] } },
  });
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`segments/${made.id}?tab=condition`);
  await page.getByRole('heading', { name: HOSTILE }).waitFor();
  // the preview is refused before anybody saves
  owner.expectFault(/4\d\d/);
  await page.getByRole('spinbutton', { name: 'How many: Created' }).fill('-1');
  await page.getByRole('alert').getByText('Must be 0 or more.').waitFor();
  assert.equal(await page.getByRole('spinbutton', { name: 'How many: Created' }).getAttribute('aria-invalid'), 'true');
  await owner.accessible('a refused condition');
  await page.getByRole('button', { name: /Remove condition: Created/ }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await owner.open('segments');
  await page.getByRole('row', { name: HOSTILE }).waitFor();
  await owner.close();
});

test('a list of one’s own: members added, removed, put back, and the list deleted', async () => {
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open('segments/new?type=STATIC');
  await page.getByLabel('Name', { exact: true }).fill('Testers');
  await page.getByRole('button', { name: 'Create segment' }).click();
  await page.getByText('Nobody is in this segment').waitFor();
  await page.getByRole('button', { name: 'Add members' }).click();
  await page.getByRole('combobox', { name: 'Find a contact to add' }).fill('p39');
  await page.getByRole('option', { name: 'p39@example.org' }).click();
  await page.getByLabel('Addresses', { exact: true }).fill('p39@example.org\nP1 <p1@example.org>, stranger@example.org');
  await owner.accessible('adding members');
  await page.getByRole('button', { name: 'Add 3 addresses' }).click();
  await page.getByText('1 address is no contact:').waitFor();
  await page.getByText('stranger@example.org').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('cell', { name: 'p39@example.org', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Remove p39@example.org' }).click();
  await page.getByText('p39@example.org was removed from the segment.').waitFor();
  await page.getByRole('cell', { name: 'p39@example.org', exact: true }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('cell', { name: 'p39@example.org', exact: true }).waitFor();
  // a page that is not there any more leads to the last one
  await page.goto(`${page.url()}&page=9`);
  await page.getByRole('cell', { name: 'p39@example.org', exact: true }).waitFor();
  // another segment refers to it, so it stays
  const [testers] = await service.api('GET', '/segments');
  const user = await service.api('POST', '/segments', {
    body: { name: 'Not testers', condition: { logic: 'AND', groups: [{ filters: [{ field: `segment.${testers.id}`, operator: 'notMemberOfSegment' }] }] } },
  });
  await page.getByRole('link', { name: 'Settings' }).last().click();
  await page.getByRole('button', { name: 'Delete' }).click();
  owner.expectFault(/409/);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByRole('alert').waitFor();
  await service.api('DELETE', `/segments/${user.id}`);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Segment Testers was deleted.').waitFor();
  await owner.close();
});

test('a condition that somebody else saved meanwhile is replaced only by who saw that', async () => {
  const rule = (value: string) => ({ logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value }] }] });
  const made = await service.api('POST', '/segments', { body: { name: 'Shared', condition: rule('pro') } });
  const stored = async () => (await service.api('GET', `/segments/${made.id}`)).condition.groups[0].filters[0].value;
  const owner = await Visitor.of(service);
  const { page } = owner;
  await owner.signIn(service.owner);
  await owner.open(`segments/${made.id}?tab=condition`);
  const value = page.getByRole('combobox', { name: 'Value: plan', exact: true });
  await value.fill('mine');
  await service.api('PATCH', `/segments/${made.id}`, { body: { condition: rule('theirs') } });
  await page.getByRole('button', { name: 'Save' }).click();
  const told = page.getByText('Somebody else changed the condition meanwhile.');
  await told.waitFor();
  // what was counted before is faint until it is counted anew
  await page.locator('main [aria-busy=true]').waitFor({ state: 'detached' });
  await owner.accessible('changed meanwhile');
  assert.equal(await stored(), 'theirs');
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await told.waitFor({ state: 'detached' });
  assert.equal(await value.inputValue(), 'theirs');
  await value.fill('mine');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal(await stored(), 'mine');
  await owner.close();
});
