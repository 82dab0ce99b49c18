import type { CDPSession, Page } from 'playwright-core';
import { quantile, type Report } from './report.ts';

/** What went on in a page while something was done in it. */
export interface Recording {
  /** From frame to frame as the page sees it, in milliseconds. */
  frames: readonly number[];
  /** The processor time of the page's own thread for each frame, in milliseconds. Other programs do not change it. */
  work: readonly number[];
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
}

/** What functions with names call that are compiled for tests and then run in a page. */
export const NAMES = 'globalThis.__name = (one) => one';
const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline'];

/** Records frames and processor time while something is done in the page. */
export async function record(page: Page, act: () => Promise<void>): Promise<Recording> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: CATEGORIES } });
  await page.evaluate(NAMES);
  await page.evaluate(() => {
    const frames: number[] = [];
    let last = performance.now();
    const tick = (now: number) => {
      frames.push(now - last);
      last = now;
      if (frames.length > 0) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    Object.assign(window, { recorded: frames });
  });
  await act();
  // the first one began before the recording
  const frames = await page.evaluate(() => (window as unknown as { recorded: number[] }).recorded.splice(0).slice(1));
  await stopped(session);
  await session.detach();
  return { frames, work: workOf(events) };
}

function stopped(session: CDPSession): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once('Tracing.tracingComplete', () => resolve());
    session.send('Tracing.end').catch(reject);
  });
}

/** The processor time from the task that draws a frame to the next such task, on the thread that draws. */
function workOf(events: readonly TraceEvent[]): number[] {
  const drawn = events.filter((event) => event.name === 'FireAnimationFrame' && event.ph === 'X');
  const thread = drawn[0];
  if (!thread) return [];
  const isOurs = (event: TraceEvent) => event.pid === thread.pid && event.tid === thread.tid;
  const draws = drawn.filter(isOurs).map((event) => event.ts).toSorted((a, b) => a - b);
  const tasks = events.filter((event) => event.name === 'RunTask' && event.ph === 'X' && isOurs(event)).toSorted((a, b) => a.ts - b.ts);
  const work: number[] = [];
  let next = 0;
  for (const task of tasks) {
    const from = next;
    while ((draws[next] ?? Infinity) < task.ts + (task.dur ?? 0)) next += 1;
    if (next > from) work.push(0);
    if (work.length > 0) work[work.length - 1] = (work.at(-1) ?? 0) + (task.tdur ?? task.dur ?? 0) / 1000;
  }
  return work;
}

/** The longest frame of a movement that nobody notices, in milliseconds. */
const FRAME_MS = 50;
/** The longest time until a single change is seen that feels like no time at all, in milliseconds. */
const CHANGE_MS = 100;

/** Adds what was recorded, with the bar for frames: of a movement, or of one change. */
export function addFrames(report: Report, name: string, what: string, { frames, work }: Recording, of: 'movement' | 'change' = 'movement'): void {
  const most = of === 'movement' ? FRAME_MS : CHANGE_MS;
  const around = (values: readonly number[]) => `p50 ${quantile(values, 0.5).toFixed(1)}, p95 ${quantile(values, 0.95).toFixed(1)}, of ${values.length}`;
  report.add({ case: name, what: `${what}: longest frame`, value: Math.max(...frames), unit: 'ms', most, beside: around(frames) });
  report.add({ case: name, what: `${what}: most work in a frame`, value: Math.max(...work), unit: 'ms', most, beside: around(work) });
}
