import { serviceUrl } from '#/api/base';
import { isGuarded } from '#/router/navigate';
import { notice } from './notices';

const missing = new WeakSet<object>();

/** Under what the session of the browser keeps when a page was last loaded anew by itself. */
const RELOADED = 'mailwright.reloaded';
/** For how many milliseconds a page is not loaded anew by itself again: where two versions answer in turn, it never ends. */
const PAUSE_MS = 60_000;

/** Whether an error says that a part of the dashboard's own code could not be loaded. */
export function isMissingPart(error: unknown): boolean {
  return typeof error === 'object' && error !== null && missing.has(error);
}

/** Notes that an error says so. */
export function noteMissing(error: unknown): void {
  if (typeof error === 'object' && error !== null) missing.add(error);
}

/** Notes which parts cannot be loaded. */
export function noteMissingParts(): void {
  addEventListener('vite:preloadError', (event) => missing.add(event.payload));
}

/** Loads the page anew, and notes when. Where something is not saved, the browser asks first. */
export function reloadOnce(): void {
  try {
    sessionStorage.setItem(RELOADED, String(Date.now()));
  } catch {
    // a browser that keeps nothing
  }
  location.reload();
}

/** Whether the page can be loaded anew by itself: it was not a moment ago, and that can be known. */
function mayReload(): boolean {
  try {
    const since = Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0);
    return since < 0 || since > PAUSE_MS;
  } catch {
    return false;
  }
}

/** Whether the service has another version of the dashboard than this page. */
async function isUpgraded(): Promise<boolean> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src');
  const page = await fetch(serviceUrl('/app/'), { headers: { accept: 'text/html' }, cache: 'no-store' }).then(
    (answer) => (answer.ok ? answer.text() : ''),
    () => '',
  );
  return Boolean(own && page && !page.includes(own));
}

/**
 * Loads the page anew if the service was upgraded since: the parts that it knows are gone. Where something is not saved,
 * a notice offers it instead. What could not be loaded says so meanwhile.
 */
export async function reloadAfterUpgrade(): Promise<void> {
  if (!(await isUpgraded())) return;
  if (isGuarded()) notice({ upgraded: true });
  else if (mayReload()) reloadOnce();
}
