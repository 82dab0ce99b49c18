import { setTimeout } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { Visitor } from '../browser/browser.ts';
import { NAMES } from './recording.ts';
import { quantile, type Report } from './report.ts';
import type { Site } from './site.ts';

/** How often each page is opened. */
const TIMES = 7;
/** How long the browser rests before each opening, so that it does not still close the page before, in milliseconds. */
const REST_MS = 500;
/** How long it may take until a page can be used, in milliseconds. */
const MOST_MS = 1000;

/** When a page was painted first, and when it could be used: what it is for is there, and its thread is idle. */
interface Opened {
  painted: number;
  usable: number;
}

/** The same with the processor time of the page's thread, which other programs of the machine do not change. */
interface Measured extends Opened {
  work: number;
}

/** Measures how long pages take to open: with nothing kept from before, and again. */
export async function opening(report: Report, { service, cookie, workflow }: Site): Promise<void> {
  const pages = [
    { name: 'the start page', path: '', shows: 'main h2' },
    { name: 'contacts', path: 'contacts', shows: '[role=row][aria-rowindex="2"] input' },
    { name: 'the workflow', path: `workflows/${workflow}`, shows: '[data-step]' },
  ];
  for (const { name, path, shows } of pages) {
    const [cold, warm]: [Measured[], Measured[]] = [[], []];
    for (let time = 0; time < TIMES; time += 1) {
      const visitor = await Visitor.of(service);
      await visitor.context.addCookies(cookie.split('; ').map((pair) => ({ name: pair.split('=')[0] ?? '', value: pair.slice(pair.indexOf('=') + 1), url: service.url })));
      await visitor.page.addInitScript(NAMES);
      await visitor.page.addInitScript(watch, shows);
      const session = await visitor.context.newCDPSession(visitor.page);
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
      for (const opened of [cold, warm]) {
        await setTimeout(REST_MS);
        const before = await workUntilNow(session);
        await visitor.page.goto(`${path}?p=${service.project.id}`);
        const found = await visitor.page.waitForFunction(() => (window as unknown as { opened?: Opened }).opened);
        const times = (await found.jsonValue()) as Opened;
        const after = await workUntilNow(session);
        // a page that begins in another process begins to count anew
        opened.push({ ...times, work: after < before ? after : after - before });
      }
      await visitor.context.close();
    }
    for (const [how, opened] of [['nothing kept', cold], ['again', warm]] as const) {
      const usable = opened.map((one) => one.usable);
      const painted = quantile(opened.map((one) => one.painted), 0.5).toFixed(0);
      const work = opened.map((one) => one.work);
      const beside = `max ${Math.max(...usable).toFixed(0)}, painted ${painted}, of ${usable.length}`;
      report.add({ case: 'opening', what: `${name}, ${how}: usable (p50)`, value: quantile(usable, 0.5), unit: 'ms', most: MOST_MS, beside });
      report.add({ case: 'opening', what: `${name}, ${how}: work of its thread (p50)`, value: quantile(work, 0.5), unit: 'ms', beside: `max ${Math.max(...work).toFixed(0)}` });
    }
  }
}

/** The processor time of the page's thread until now, in milliseconds. */
async function workUntilNow(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return (metrics.find((one) => one.name === 'TaskDuration')?.value ?? 0) * 1000;
}

/** Notes in the page when it can be used. */
function watch(shows: string): void {
  const look = () => {
    const isThere = document.querySelector(shows) && !document.querySelector('main [role=status].animate-appear');
    if (!isThere) {
      requestAnimationFrame(look);
      return;
    }
    requestIdleCallback(() => {
      const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
      Object.assign(window, { opened: { painted, usable: performance.now() } });
    });
  };
  requestAnimationFrame(look);
}
