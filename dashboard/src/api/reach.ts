import { serviceTime } from '#/i18n/clock';
import { ApiError } from './error';

/** How long a read may take until its answer begins, in milliseconds. */
const READ_MS = 30_000;
/** The same for a write, which may have much to send. */
const WRITE_MS = 120_000;
/** What a proxy answers when the service behind it gives no answer. */
const UNREACHED: ReadonlySet<number> = new Set([502, 503, 504]);

const reach = { isLost: false };
const listeners = new Set<() => void>();
const doubtful = new Set<() => void>();

/** Whether the last request got no answer. */
export const isLost = (): boolean => reach.isLost;

/** Calls back when the service cannot be reached any more, or can again. */
export function onReach(callback: () => void): () => void {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

/** Calls back when a write got no answer, and so may have been done or not. */
export function onDoubt(callback: () => void): void {
  doubtful.add(callback);
}

function note(lost: boolean): void {
  if (reach.isLost === lost) return;
  reach.isLost = lost;
  for (const callback of listeners) callback();
}

/** Whether a request has a method that only reads. */
const isGet = ({ method }: Request): boolean => ['GET', 'HEAD'].includes(method.toUpperCase());

function unanswered(isWrite: boolean): ApiError {
  note(true);
  if (!isWrite) return new ApiError({ message: 'The service cannot be reached.', status: 0, code: 'OFFLINE' });
  for (const callback of doubtful) callback();
  return new ApiError({ message: 'The service gave no answer.', status: 0, code: 'UNANSWERED' });
}

/** An answer that came to its end. */
async function whole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  return new Response(body.byteLength > 0 ? body : null, response);
}

async function sent(request: Request, isWrite: boolean): Promise<Response> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), isWrite ? WRITE_MS : READ_MS);
  let response;
  try {
    response = await fetch(request, { signal: AbortSignal.any([request.signal, patience.signal]) });
    // only what is got can be a stream
    if (!isGet(request)) response = await whole(response);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw unanswered(isWrite);
  } finally {
    clearTimeout(timer);
  }
  // what the service answers itself has the id of the request
  if (UNREACHED.has(response.status) && !response.headers.has('x-request-id')) throw unanswered(isWrite);
  note(false);
  serviceTime(response.headers.get('date'));
  return response;
}

/** A request of the dashboard, with an end to waiting. Throws an `ApiError` when it gets no answer of the service. */
export function reached(request: Request): Promise<Response> {
  return sent(request, !isGet(request));
}

/**
 * The same for what only asks, though by POST because it is too much for an address:
 * `api.POST('/contacts/search', { body, signal, fetch: asked })`.
 */
export function asked(request: Request): Promise<Response> {
  return sent(request, false);
}
