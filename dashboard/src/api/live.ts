import { rawRequest } from './client';
import { ApiError } from './error';

/** One event of a stream. */
export interface StreamEvent {
  id: string;
  data: string;
}

const session = { isEnding: false };

/** Says whether the session is being ended: a stream that ends with it is not opened again. */
export function leave(is: boolean): void {
  session.isEnding = is;
}

/** After how many milliseconds a stream that ended is opened again, and the longest such pause. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** After how many milliseconds a stream counts as one that works. */
const WORKS_MS = 10_000;
/**
 * After how many milliseconds a page that nobody sees gives its stream back: a browser opens six connections to a service
 * at a time, for all of its pages together.
 */
const UNSEEN_MS = 5_000;

/**
 * Follows a stream of server-sent events, each event once, until `signal` aborts. `EventSource` cannot send the project's
 * id, so it is read with `fetch`. A stream that ends is continued after the last id: after a second, and each time after
 * twice as long, for at most 30 seconds, until one lasts or brings something. While nobody sees the page there is none.
 */
export async function follow(
  path: string,
  on: { event: (event: StreamEvent) => void; state?: (connected: boolean) => void },
  signal: AbortSignal,
): Promise<void> {
  let last = '';
  let wait = RETRY_MS;
  while (!signal.aborted && !session.isEnding) {
    const seen = whileSeen(signal);
    await seen.begins;
    if (signal.aborted) return;
    const began = performance.now();
    let asked = 0;
    try {
      const headers: Record<string, string> = last ? { 'Last-Event-ID': last } : {};
      const response = await rawRequest(path, { headers, signal: seen.signal });
      on.state?.(true);
      for await (const event of events(response)) {
        wait = RETRY_MS;
        if (event.id) last = event.id;
        if (event.data) on.event(event);
      }
    } catch (error) {
      if (signal.aborted || session.isEnding) return;
      // what it stood at is too old: go on from now
      if (error instanceof ApiError && error.code === 'STREAM_EXPIRED') last = '';
      if (error instanceof ApiError) asked = error.pauseMs;
    } finally {
      seen.end();
    }
    if (seen.signal.aborted) continue;
    on.state?.(false);
    if (performance.now() - began > WORKS_MS) wait = RETRY_MS;
    await pause(Math.max(wait, asked), signal);
    wait = Math.min(wait * 2, LONGEST_RETRY_MS);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

/** A signal that aborts with another one, and when nobody has seen the page for a while; `begins` when somebody sees it. */
function whileSeen(outer: AbortSignal): { begins: Promise<void>; signal: AbortSignal; end: () => void } {
  const inner = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let show = () => {};
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => inner.abort(), UNSEEN_MS);
    else show();
  };
  const begins = new Promise<void>((resolve) => {
    show = resolve;
    if (!document.hidden) resolve();
  });
  const abort = () => {
    inner.abort();
    show();
  };
  document.addEventListener('visibilitychange', look);
  outer.addEventListener('abort', abort);
  const end = () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
    outer.removeEventListener('abort', abort);
  };
  return { begins, signal: inner.signal, end };
}

async function* events(response: Response): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf('\n\n')) >= 0) {
      yield parse(rest.slice(0, end));
      rest = rest.slice(end + 2);
    }
  }
}

function parse(block: string): StreamEvent {
  const event = { id: '', data: '' };
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) event.id = line.slice(4);
    if (line.startsWith('data: ')) event.data += line.slice(6);
  }
  return event;
}
