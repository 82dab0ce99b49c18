import type { Graph } from './graph';
import type { Layout } from './layout';
import type { Order } from './layout.worker';

let worker: Worker | undefined;
let orders = 0;
const waiting = new Map<number, (layout: Layout) => void>();

function started(): Worker {
  const one = new Worker(new URL('layout.worker.ts', import.meta.url), { type: 'module' });
  one.addEventListener('message', ({ data: { number, layout } }: MessageEvent<{ number: number; layout: Layout }>) => {
    waiting.get(number)?.(layout);
    waiting.delete(number);
  });
  return one;
}

/** Starts what computes the places of graphs, so that the first graph need not wait for it. */
export function prepareLayout(): void {
  worker ??= started();
}

/** Computes the places of a graph without holding up the page. */
export function laidOut(graph: Graph): Promise<Layout> {
  worker ??= started();
  const order: Order = { number: (orders += 1), graph };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  worker.postMessage(order);
  return new Promise((resolve) => waiting.set(order.number, resolve));
}
