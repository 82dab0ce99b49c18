import type { Graph } from './graph';
import type { Layout } from './layout';
import type { Order } from './layout.worker';

/** A graph that waits for its places. */
interface Waiting {
  graph: Graph;
  resolve: (layout: Layout | Promise<Layout>) => void;
}

let worker: Worker | undefined;
let orders = 0;
const waiting = new Map<number, Waiting>();

function started(): Worker {
  const one = new Worker(new URL('layout.worker.ts', import.meta.url), { type: 'module' });
  one.addEventListener('message', ({ data: { number, layout } }: MessageEvent<{ number: number; layout: Layout }>) => {
    waiting.get(number)?.resolve(layout);
    waiting.delete(number);
  });
  one.addEventListener('error', () => {
    one.terminate();
    if (worker === one) worker = undefined;
    for (const { graph, resolve } of waiting.values()) resolve(here(graph));
    waiting.clear();
  });
  return one;
}

/** Computes places on the thread of the page, where the worker cannot. */
async function here(graph: Graph): Promise<Layout> {
  const { computed } = await import('./automatic');
  return computed(graph);
}

/** Starts what computes the places of graphs, so that the first graph need not wait for it. */
export function prepareLayout(): void {
  worker ??= started();
}

/** Computes the places of a graph without holding up the page. */
export function laidOut(graph: Graph): Promise<Layout> {
  worker ??= started();
  const order: Order = { number: (orders += 1), graph };
  const result = new Promise<Layout>((resolve) => waiting.set(order.number, { graph, resolve }));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  worker.postMessage(order);
  return result;
}
