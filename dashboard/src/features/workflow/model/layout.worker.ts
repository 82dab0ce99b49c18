import type { Graph } from './graph';
import { computed } from './automatic';

/** A graph to be laid out, and the number that its answer carries. */
export interface Order {
  number: number;
  graph: Graph;
}

// Laying out a large graph takes longer than a frame: it does not happen on the thread of the page.
globalThis.addEventListener('message', ({ data: { number, graph } }: MessageEvent<Order>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- what asked a worker is its page
  globalThis.postMessage({ number, layout: computed(graph) });
});
