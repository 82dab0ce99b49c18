import { base } from '#/api/base';
import { here } from './location';

/** The values of an address behind its question mark. What is undefined, empty or false is left out. */
export type Search = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where the dashboard is: `/app`, below the path of the service. */
const ROOT = `${base}/app`;

/** The name under which every address of a project holds the project. */
export const PROJECT = 'p';

/** The path of a page within the dashboard, from that of the browser: `/contacts`. */
export function pathOf(pathname: string): string {
  const path = pathname.startsWith(ROOT) ? pathname.slice(ROOT.length) : pathname;
  return path === '' ? '/' : path;
}

/**
 * The address of a page: `href('/contacts', { q: 'ada' })`. The project that the present address names stays, unless
 * `search` names another one.
 */
export function href(path: string, search: Search = {}): string {
  const present = new URLSearchParams(here().search).get(PROJECT);
  const values = new URLSearchParams();
  const all: Search = present ? { [PROJECT]: present, ...search } : search;
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined && value !== '' && value !== false) values.set(name, String(value));
  }
  const text = values.toString();
  return `${ROOT}${path}${text ? `?${text}` : ''}`;
}
