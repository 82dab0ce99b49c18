import createClient, { type Middleware } from 'openapi-fetch';
import { base } from './base';
import { ApiError, errorOf } from './error';
import { isOwn, reached } from './reach';
import type { components, paths } from './schema';

/** The shapes of the API, by the names in its document. */
export type Schemas = components['schemas'];

let project: string | undefined;

/** The project that requests are about. The shell sets it from the address of the page. */
export function setProject(id: string | undefined): void {
  project = id;
}

/** The id of the project that requests are about. */
export function currentProject(): string {
  if (!project) throw new Error('No project is open.');
  return project;
}

const refused = new Set<() => void>();

/** Calls back when a request is answered with 401, but for the one that asks who is signed in. */
export function onRefused(callback: () => void): void {
  refused.add(callback);
}

function noteRefusal(response: Response): void {
  if (response.status === 401 && isOwn(response)) for (const callback of refused) callback();
}

const session: Middleware = {
  onRequest({ request }) {
    if (project) request.headers.set('X-Project-Id', project);
    return request;
  },
  onResponse({ response, schemaPath }) {
    if (schemaPath !== '/users/@me') noteRefusal(response);
  },
};

/**
 * The HTTP API, with the paths and shapes of `docs/openapi.json`. Wrap each request in `call`:
 * `call(api.GET('/contacts', { params: { query }, signal }))`.
 */
export const api = createClient<paths>({ baseUrl: base, credentials: 'same-origin', fetch: reached });
api.use(session);

/** What a request failed with. One that was given up stays what it is; what is read may break off. */
function asError(cause: unknown): unknown {
  if (cause instanceof ApiError || (cause instanceof DOMException && cause.name === 'AbortError')) return cause;
  return new ApiError({ message: 'The answer of the service broke off.', status: 0, code: 'OFFLINE' });
}

/** The answer of a request. Throws an `ApiError` when it failed. */
export async function call<T>(request: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer;
  try {
    answer = await request;
  } catch (cause) {
    throw asError(cause);
  }
  if (!answer.response.ok) throw errorOf(answer.error, answer.response);
  return answer.data as T;
}

/**
 * A request outside of the document's shapes, such as a file to download. With the session and the project's id. `through`
 * is `asked` for a POST that changes nothing.
 */
export async function rawRequest(path: string, init: RequestInit = {}, through = reached): Promise<Response> {
  const headers = new Headers(init.headers);
  if (project) headers.set('X-Project-Id', project);
  const response = await through(new Request(`${base}${path}`, { ...init, headers, credentials: 'same-origin' }));
  noteRefusal(response);
  if (!response.ok) throw errorOf(await response.json().catch(() => undefined), response);
  return response;
}

/** Saves a file that the API gives. Frames and links cannot name the project, so it is fetched first. */
export async function download(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await rawRequest(path)).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
