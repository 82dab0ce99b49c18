import { serviceTime } from '#/i18n/clock';
import { ApiError } from './error';

/** How long a read may take until its answer begins, and how long the answer may pause, in milliseconds. */
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

/** An answer that came to its end. `heard` is called whenever some of it comes. */
async function whole(response: Response, heard: () => void): Promise<Response> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    parts.push(part.value);
    heard();
  }
  return new Response(parts.length > 0 ? new Blob(parts) : null, response);
}

const isOfType = (response: Response, type: string): boolean => response.headers.get('content-type')?.includes(type) ?? false;

/** Whether an answer is the service's own, which has the id of the request, and not that of something on the way to it. */
export const isOwn = (response: Response): boolean => response.headers.has('x-request-id');

/** Whether the answer to a write can be read; one that cannot says nothing about what was done. */
async function canBeRead(response: Response): Promise<boolean> {
  if (response.body === null || !isOfType(response, 'json')) return true;
  try {
    await response.clone().json();
    return true;
  } catch {
    return false;
  }
}

async function sent(request: Request, isWrite: boolean): Promise<Response> {
  const patience = new AbortController();
  const wait = () => setTimeout(() => patience.abort(), isWrite ? WRITE_MS : READ_MS);
  let timer = wait();
  let response;
  let isStream;
  try {
    response = await fetch(request, { signal: AbortSignal.any([request.signal, patience.signal]) });
    isStream = isOfType(response, 'text/event-stream');
    if (!isStream) {
      response = await whole(response, () => {
        clearTimeout(timer);
        timer = wait();
      });
    }
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw unanswered(isWrite);
  } finally {
    clearTimeout(timer);
  }
  // a refusal on the way says that a write was not done, success says nothing
  const isForeign = !isStream && !isOwn(response) && (response.ok || !isWrite || UNREACHED.has(response.status));
  if (isForeign || (isWrite && !(await canBeRead(response)))) throw unanswered(isWrite);
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
