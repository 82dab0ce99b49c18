import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Visitor } from '../browser/browser.ts';
import type { Story } from './story.ts';

/** Where the pictures go. */
export const FOLDER = new URL('../../../docs/screenshots/', import.meta.url);
/** Text stays sharp with it, and a picture is a tenth of a PNG. */
const QUALITY = 80;

/** A picture of a page. */
export interface Picture {
  name: string;
  path: string;
  /** What has to be there before the picture is taken. */
  shows: string;
  theme?: 'dark';
  width?: number;
  /** What is done in the page before. */
  act?: (visitor: Visitor) => Promise<void>;
}

/** The mails that were captured; the story has a mail server, and so none. */
export const MAILBOX: Picture = { name: 'mailbox', path: 'mailbox', shows: 'main iframe' };

/** The pictures of the story, in the order in which they are made. */
export const pictures = (ids: Story['ids']): Picture[] => [
  { name: 'home', path: '', shows: 'main h2' },
  { name: 'contacts', path: 'contacts', shows: '[role=row][aria-rowindex="12"] input' },
  { name: 'contact', path: `contacts/${ids.contact}`, shows: 'main time' },
  { name: 'segment', path: `segments/${ids.segment}?tab=condition`, shows: 'main [role=combobox]' },
  { name: 'editor', path: `templates/${ids.template}`, shows: '.ProseMirror' },
  { name: 'campaign', path: `campaigns/${ids.campaign}`, shows: 'main table' },
  { name: 'workflow', path: `workflows/${ids.workflow}`, shows: '[data-step]', act: showAll },
  { name: 'activity', path: 'activity', shows: 'main time' },
  { name: 'analytics', path: 'analytics', shows: 'main canvas' },
  { name: 'delivery', path: 'delivery', shows: 'main table' },
  { name: 'analytics-dark', path: 'analytics', shows: 'main canvas', theme: 'dark' },
  { name: 'workflow-dark', path: `workflows/${ids.workflow}`, shows: '[data-step]', theme: 'dark', act: showAll },
  { name: 'home-narrow', path: '', shows: 'main h2', width: 360 },
];

/** Shows a whole workflow. */
async function showAll({ page }: Visitor): Promise<void> {
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[data-step]').length >= 9);
}

/** Has every answer bear a date: the service's own would be that of the machine, and the page believes it more than its clock. */
async function dated({ context, page }: Visitor, moment: number): Promise<void> {
  const session = await context.newCDPSession(page);
  session.on('Fetch.requestPaused', ({ requestId, responseStatusCode, responseHeaders = [] }) => {
    const others = responseHeaders.filter(({ name }) => name.toLowerCase() !== 'date');
    const headers = [...others, { name: 'date', value: new Date(moment).toUTCString() }];
    // a page that is left waits for nothing any more
    session.send('Fetch.continueResponse', { requestId, responseCode: responseStatusCode ?? 200, responseHeaders: headers }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: '*', requestStage: 'Response' }] });
}

/** Takes a picture of a page as somebody sees it who is signed in. */
export async function take({ service, time }: Pick<Story, 'service' | 'time'>, { name, path, shows, theme, width = 1280, act }: Picture): Promise<void> {
  const visitor = await Visitor.of(service, { width, height: width < 640 ? 740 : 800 });
  const { page } = visitor;
  const moment = time.now();
  await page.clock.setFixedTime(moment);
  await dated(visitor, moment);
  const cookie = await service.cookie();
  await visitor.context.addCookies(cookie.split('; ').map((pair) => ({ name: pair.split('=')[0] ?? '', value: pair.slice(pair.indexOf('=') + 1), url: service.url })));
  await page.addInitScript((to) => localStorage.setItem('mailwright.theme', to), theme ?? 'light');
  await page.goto(`${path}${path.includes('?') ? '&' : '?'}p=${service.project.id}`);
  await page.locator(shows).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('main .animate-appear, main [aria-busy=true]'));
  await act?.(visitor);
  const session = await visitor.context.newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const file = new URL(`${name}.webp`, FOLDER);
  const bytes = Buffer.from(data, 'base64');
  await writeFile(file, bytes);
  console.error(`  ${basename(file.pathname)} ${(bytes.length / 1000).toFixed(0)} kB`);
  await visitor.context.close();
}
