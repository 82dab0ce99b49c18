import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { parse } from 'regexparam';
import { ROUTES } from '../../src/routes.ts';
import { closeBrowser, Visitor } from './browser.ts';
import { EVIL, type HostileProject, LONG, makeHostileProject } from './hostile.ts';
import { freePort, type Person, Service } from './service.ts';

const grace: Person = { email: 'grace@example.org', password: 'another horse battery' };

/** A page to look at, in one of its states. */
interface View {
  /** Its address below `/app/`. */
  at: string;
  /** Text that it shows, so that it is known to be there as a whole. Most pages show a hostile name. */
  shows?: string | RegExp;
  /** Whether a page of this kind is looked at with axe already: then only its width is looked at. */
  again?: true;
  /** What a person does to come from the address to the state. */
  does?: (page: Page) => Promise<unknown>;
}

/** The beginning of the hostile text, as a page shows it. */
const NAME = '<img src=x onerror=ran=1>';
/** Where a page shows data: what is above the others comes last. */
const PLACES = 'main, [role=dialog], [role=alertdialog], [role=menu]';
const PATTERNS = ROUTES.map(({ path }) => ({ path, pattern: parse(path).pattern }));
const seen = { routes: new Set<string>(), tabs: new Set<string>(), addresses: new Set<string>() };

let service: Service;
let made: HostileProject;

before(async () => {
  const inbound = await freePort();
  service = await Service.start({
    MAILWRIGHT_INBOUND_LISTEN: `127.0.0.1:${inbound}`,
    MAILWRIGHT_INBOUND_HOST: 'mx.acme.test',
    MAILWRIGHT_INBOUND_RETURN_PATH: 'bounces.acme.test',
    MAILWRIGHT_TRACKING_SETTLE_MS: '0',
  });
  made = await makeHostileProject(service, inbound, grace);
});

after(async () => {
  await closeBrowser();
  await service.stop();
});

/** Somebody whose browser tells when anything of the hostile data has run. */
async function watched(who: Visitor): Promise<string[]> {
  const ran: string[] = [];
  who.page.on('dialog', (dialog) => {
    // a page that asks before it is left does so by itself
    if (dialog.type() !== 'beforeunload') ran.push(`a dialog: ${dialog.message()}`);
    void dialog.accept();
  });
  who.context.on('page', () => ran.push('a window was opened'));
  // what a frame with a mail refuses to do is said in the console; the policy of a page names `script-src`
  who.expectFault(/^console: Blocked script execution in '.*' because the document's frame is sandboxed/);
  who.expectFault(/^console: Running the JavaScript URL violates .* directive 'default-src 'none''/);
  who.expectFault(/^console: Refused to execute the redirect .* The document is sandboxed/);
  who.expectFault(/^console: Setting the document's base URI to 'https:\/\/elsewhere\.test\/' violates/);
  return ran;
}

/** Waits until a page has all that it shows: nothing says that it is loading. */
async function settled(page: Page): Promise<void> {
  // a dialog hides the page below it from those who do not see
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => !document.querySelector('.animate-pulse, [aria-busy=true]'));
}

/** Looks at a page: what it shows is text, nothing of it ran, and everybody can use it. */
async function look(who: Visitor, ran: string[], view: View): Promise<void> {
  const { page } = who;
  await page.goto(view.at);
  await settled(page);
  await view.does?.(page);
  const wanted = view.shows ?? NAME;
  const places = page.locator(PLACES).last();
  if (wanted !== '') await places.getByText(wanted).filter({ visible: true }).first().waitFor();
  await settled(page);
  await (view.again ? who.holds(view.at) : who.accessible(view.at));
  const found = await page.evaluate(() => ({
    ran: 'ran' in window,
    elements: document.querySelectorAll('[onerror], [onclick], [onload], main script, a[href^="javascript:" i], [src="x"]').length,
    tabs: [...document.querySelectorAll<HTMLAnchorElement>('main nav a[href*="tab="]')].map(({ href }) => href),
    address: location.href,
  }));
  assert.deepEqual(ran, []);
  assert.equal(found.ran, false, 'a script of the data ran');
  assert.equal(found.elements, 0, 'data became elements');
  who.noFaults();
  const { pathname, search } = new URL(found.address);
  const path = pathname.replace(/^\/app/, '') || '/';
  assert.equal(`${pathname}`, new URL(view.at, `${service.url}/app/`).pathname, 'it went elsewhere');
  seen.routes.add(PATTERNS.find(({ pattern }) => pattern.test(path))?.path ?? '');
  const named = (address: string) => {
    const { pathname: at, searchParams } = new URL(address);
    return `${at.replace(/[0-9a-f-]{36}/, ':id')}?tab=${searchParams.get('tab')}`;
  };
  for (const tab of found.tabs) seen.tabs.add(named(tab));
  if (search.includes('tab=')) seen.addresses.add(named(found.address));
}

async function lookAtAll(context: TestContext, views: readonly View[], who: Visitor): Promise<void> {
  const ran = await watched(who);
  for (const view of views) {
    const name = view.at === '' ? 'the start page' : view.at.replaceAll(/[0-9a-f-]{36}/g, ':id').slice(0, 80);
    await context.test(name, () => look(who, ran, view));
  }
  await who.close();
}

async function asOwner(context: TestContext, views: readonly View[]): Promise<void> {
  const owner = await Visitor.of(service);
  await owner.signIn(service.owner);
  await lookAtAll(context, views, owner);
}

test('pages for everybody, with an address that somebody else wrote', async (context) => {
  const next = encodeURIComponent('javascript:top.ran=1');
  const views: View[] = [
    { at: `auth/login?message=${encodeURIComponent(EVIL)}&next=${next}`, shows: '' },
    { again: true, at: 'auth/login?message=constructor', shows: '' },
    { at: `auth/signup?next=${next}`, shows: '' },
    { at: 'auth/reset-password', shows: '' },
  ];
  await lookAtAll(context, views, await Visitor.of(service));
});

test('signing in leads to no other place and to no script', async () => {
  for (const next of ['javascript:ran=1', '//elsewhere.test/', 'https://elsewhere.test/', '/\\elsewhere.test/']) {
    const owner = await Visitor.of(service);
    const { page } = owner;
    const ran = await watched(owner);
    await page.goto(`auth/login?next=${encodeURIComponent(next)}`);
    await page.getByLabel('E-mail address').fill(service.owner.email);
    await page.getByLabel('Password', { exact: true }).fill(service.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
    assert.equal(new URL(page.url()).origin, service.url);
    assert.equal(await page.evaluate(() => 'ran' in window), false);
    assert.deepEqual(ran, []);
    await owner.close();
  }
});

test('start, account and what is made', async (context) => {
  await asOwner(context, [
    { at: '' },
    { at: 'onboarding', shows: 'curl ' },
    { at: 'projects/create', shows: '' },
    { at: 'auth/verify-email', shows: '' },
    { at: 'account', shows: 'owner@acme.test' },
    { at: 'segments/new', shows: '' },
    { again: true, at: `segments/new?condition=${encodeURIComponent(JSON.stringify({ logic: 'AND', groups: [{ filters: [{ field: `data.${EVIL}`, operator: 'equals', value: EVIL }] }] }))}` },
    { at: 'templates/create', shows: '' },
    { again: true, at: `campaigns/create?start=template&template=${made.templates.html}`, shows: '' },
    { at: 'nowhere/at/all', shows: '' },
  ]);
});

test('contacts and segments', async (context) => {
  await asOwner(context, [
    { at: 'contacts', shows: 'ada@example.org' },
    { again: true, at: `contacts?q=${encodeURIComponent(EVIL)}`, shows: '' },
    { at: 'contacts/import', shows: '' },
    { at: `contacts/import?job=${made.importJob}` },
    { at: `contacts/${made.contact}` },
    { at: `contacts/${made.contact}?tab=mails` },
    { at: `contacts/${made.contact}?tab=consent`, shows: '' },
    { at: `contacts/${made.contact}?tab=places` },
    { again: true, at: `contacts/${made.longContact}`, shows: 'l'.repeat(60) },
    { at: 'segments' },
    { at: `segments/${made.segment}`, shows: 'ada@example.org' },
    { at: `segments/${made.segment}?tab=condition` },
    { at: `segments/${made.segment}?tab=settings`, shows: '' },
    { at: `segments/${made.listed}?add=1`, shows: '' },
  ]);
});

test('templates', async (context) => {
  const { html, mjml, visual } = made.templates;
  await asOwner(context, [
    { at: 'templates' },
    { at: `templates/${html}`, shows: '' },
    { again: true, at: `templates/${html}?view=split`, shows: '' },
    { at: `templates/${html}?view=preview`, shows: '' },
    { again: true, at: `templates/${mjml}`, shows: '' },
    { again: true, at: `templates/${mjml}?view=preview`, shows: '' },
    { at: `templates/${visual}`, does: (page) => page.getByRole('textbox', { name: 'Mail', exact: true }).getByText(NAME).first().click() },
    { again: true, at: `templates/${visual}?view=preview`, shows: '' },
    { at: `templates/${html}?tab=settings`, shows: '' },
    { at: `templates/${html}?tab=versions` },
    { at: `templates/${html}?tab=versions&version=1` },
    {
      at: `templates/${html}?tab=versions&version=1`,
      does: (page) => page.getByRole('button', { name: 'Source' }).click(),
    },
    { at: `templates/${html}?tab=results`, shows: '' },
  ]);
});

test('the picture picker', async (context) => {
  await asOwner(context, [
    {
      at: `templates/${made.templates.visual}`,
      shows: '',
      does: async (page) => {
        await page.getByRole('textbox', { name: 'Mail', exact: true }).getByText(NAME).first().click();
        await page.getByRole('button', { name: 'Insert a block' }).click();
        await page.getByRole('menuitem', { name: 'Picture' }).click();
        await page.getByRole('complementary', { name: 'Settings' }).getByRole('button', { name: 'Choose a picture' }).click();
        await page.getByRole('dialog').getByRole('radio', { name: /onerror/ }).check();
      },
    },
  ]);
});

test('campaigns', async (context) => {
  const { draft, sent } = made.campaigns;
  await asOwner(context, [
    { at: 'campaigns' },
    { at: `campaigns/${draft}`, shows: '' },
    { again: true, at: `campaigns/${draft}?tab=content`, shows: '' },
    { at: `campaigns/${draft}?tab=settings`, shows: '' },
    { at: `campaigns/${draft}?tab=audience` },
    { at: `campaigns/${draft}?tab=versions`, shows: '' },
    { at: `campaigns/${draft}?tab=review`, shows: '' },
    { at: `campaigns/${sent}?tab=results`, shows: '' },
    { at: `campaigns/${sent}?tab=ledger`, shows: 'ada@example.org' },
    { again: true, at: `campaigns/${sent}?tab=content`, shows: '' },
    { again: true, at: `campaigns/${sent}?tab=audience`, shows: '' },
  ]);
});

test('workflows', async (context) => {
  const at = `workflows/${made.workflow}`;
  await asOwner(context, [
    { at: 'workflows' },
    { at: 'workflows?add=1', shows: '' },
    { at },
    { at: `${at}?view=list` },
    { at: `${at}?step=${made.step}` },
    { at: `${at}?tab=executions`, shows: 'ada@example.org' },
    { at: `${at}?tab=executions&execution=${made.execution}` },
    { at: `${at}?tab=versions`, shows: '' },
    { at: `${at}?tab=rehearsal`, shows: '' },
    { at: `${at}?tab=settings`, shows: '' },
  ]);
});

test('what happened', async (context) => {
  await asOwner(context, [
    { at: 'activity' },
    { at: 'analytics' },
    { at: 'emails' },
    { at: `emails/${made.mails.sent}` },
    { again: true, at: `emails/${made.mails.suppressed}` },
    { at: `emails/${made.mails.received}` },
    { at: 'delivery' },
    { at: 'requests', shows: '/contacts/' },
    {
      at: 'requests',
      shows: '404 CONTACT_NOT_FOUND',
      does: (page) => page.getByRole('grid').getByRole('row', { name: 'GET /contacts/{id}, 404' }).first().click(),
    },
  ]);
});

test('captured mail', async (context) => {
  const id = made.mails.sent;
  const owner = await Visitor.of(service);
  await owner.signIn(service.owner);
  await owner.open(`mailbox/${id}`);
  // the views of a mail, as the page has them
  await owner.page.getByRole('tab').first().waitFor();
  const views = await owner.page.getByRole('tab').evaluateAll((tabs) => tabs.map((tab) => tab.id.replace('tab-', '')));
  assert.ok(views.length >= 5, views.join());
  await lookAtAll(context, [{ at: `mailbox?mail=${id}` }, ...views.map((view) => ({ at: `mailbox/${id}?view=${view}` }))], owner);
});

test('settings', async (context) => {
  const tab = (name: string, view: Partial<View> = {}) => ({ at: `settings?tab=${name}&p=${service.project.id}`, ...view });
  await asOwner(context, [
    tab('general', { shows: '' }),
    tab('domains', { shows: 'd'.repeat(60) }),
    { at: `settings/domains/${made.domain}/dmarc?p=${service.project.id}` },
    { again: true, at: `settings/domains/${made.domain}/dmarc?days=7&p=${service.project.id}`, shows: LONG },
    tab('members', { shows: LONG }),
    tab('keys'),
    tab('api', { shows: '' }),
    tab('topics'),
    tab('suppressions'),
    tab('security', { shows: '' }),
    tab('billing', { shows: '' }),
    tab('data'),
    tab('data', { at: `settings?tab=data&field=${encodeURIComponent(made.field)}` }),
    tab('data', { at: `settings?tab=data&event=${encodeURIComponent(made.event)}` }),
    tab('audit'),
    tab('danger', { shows: '' }),
  ]);
});

test('questions, menus and the palette', async (context) => {
  const p = service.project.id;
  const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click();
  await asOwner(context, [
    { again: true, at: `settings?tab=keys&p=${p}`, does: press(`Revoke ${EVIL}`) },
    { again: true, at: `settings?tab=topics&p=${p}`, shows: 'Edit topic', does: press(`Edit topic: ${EVIL}`) },
    { again: true, at: `settings?tab=suppressions&p=${p}`, shows: 'Edit rule', does: press(`Edit rule: ${EVIL}`) },
    { again: true, at: `settings?tab=domains&p=${p}`, shows: 'd'.repeat(60), does: press('Remove') },
    { again: true, at: `settings?tab=domains&p=${p}`, shows: 'd'.repeat(60), does: press('New keys') },
    { again: true, at: 'delivery', shows: 'p'.repeat(60), does: press(/^Resume: /) },
    { again: true, at: `settings?tab=danger&p=${p}`, does: press('Delete the project') },
    { again: true, at: `templates/${made.templates.html}?tab=settings`, does: press('Delete') },
    { again: true, at: 'contacts', does: press(/^Switch project/) },
    {
      again: true,
      at: 'segments',
      does: async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByPlaceholder('Go to, create, find…').fill('onerror');
        await page.getByRole('dialog').getByText(NAME).first().waitFor();
      },
    },
  ]);
});

test('nothing was left out', () => {
  const left = ROUTES.map(({ path }) => path).filter((path) => !seen.routes.has(path));
  assert.deepEqual(left, [], 'pages of routes.ts that nobody looked at');
  assert.deepEqual([...seen.tabs].filter((tab) => !seen.addresses.has(tab)), [], 'tabs that nobody looked at');
});
