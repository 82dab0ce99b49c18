import type { Page } from 'playwright-core';
import { Visitor } from '../browser/browser.ts';
import { addFrames, record } from './recording.ts';
import type { Report } from './report.ts';
import type { Site } from './site.ts';

/** How many times the wheel is turned, and how far each time, in pixels. */
const TURNS = 600;
const TURN = 240;
const KEYS = 300;
/** The height of a row in pixels. */
const ROW = 36;
/** How many elements a page may have, however long its list is. */
const MOST_ELEMENTS = 1500;
/** How much memory may be left of rows that are out of sight, in megabytes. */
const MOST_MB = 40;

/** Measures how a list of all contacts scrolls. */
export async function scrolling(report: Report, { service }: Site): Promise<void> {
  const visitor = await Visitor.of(service);
  const { page } = visitor;
  await visitor.signIn(service.owner);
  await visitor.open('contacts');
  const list = page.getByRole('grid', { name: 'Contacts' });
  await list.getByRole('row').nth(10).waitFor();
  const before = await memory(page);
  await list.hover();
  const add = async (what: string, act: () => Promise<void>) => addFrames(report, 'contacts', what, await record(page, act));

  await add('wheel down', async () => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      await page.mouse.wheel(0, TURN);
      await nextFrame(page);
    }
  });
  report.add({ case: 'contacts', what: 'rows the wheel went past', value: (await top(page)) / ROW, unit: 'rows' });
  await add('wheel up', async () => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      await page.mouse.wheel(0, -TURN);
      await nextFrame(page);
    }
  });
  await list.getByRole('row').nth(3).focus();
  await add('arrow down', () => pressed(page, 'ArrowDown', KEYS));
  await add('page down', () => pressed(page, 'PageDown', KEYS));
  await add('home and end', async () => {
    for (let time = 0; time < 20; time += 1) {
      await pressed(page, 'Home', 1);
      await pressed(page, 'End', 2);
    }
  });
  const after = await memory(page);
  report.add({ case: 'contacts', what: 'elements of the page', value: after.elements, unit: 'elements', most: MOST_ELEMENTS });
  report.add({ case: 'contacts', what: 'memory that stayed', value: after.heap - before.heap, unit: 'MB', most: MOST_MB, beside: `${after.heap.toFixed(1)} MB in all` });
  await visitor.context.close();
}

const top = (page: Page) => page.evaluate(() => document.querySelector('[role=grid]')?.scrollTop ?? 0);

/** Waits for the next frame, so that input comes as often as a screen shows it. */
const nextFrame = (page: Page) => page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => resolve())));

async function pressed(page: Page, key: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await page.keyboard.press(key);
    await nextFrame(page);
  }
}

async function memory(page: Page): Promise<{ elements: number; heap: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return { elements: await page.evaluate(() => document.querySelectorAll('*').length), heap: usedSize / 1e6 };
}
