import { onRefused } from '#/api/client';
import { serviceUrl } from '#/api/base';
import { onSessionLost, queries } from '#/api/query';
import { forgetSecrets } from '#/features/key/fresh';
import { me } from '#/features/user/queries';
import { pathOf } from '#/router/address';
import { here } from '#/router/location';
import { dropGuards, go, isGuarded, watchGuards } from '#/router/navigate';
import { notice, present } from './notices';

/**
 * Follows who is signed in. When the session ends, the page makes way for the one for signing in; with something on it
 * that is not saved it stays, says so, and goes on when the session is there again.
 */
export function followSession(): void {
  onSessionLost(lost);
  onRefused(() => {
    // it may be no query that found it, but something that was to be done: whether it is the session, `me` tells
    if (!present().signedOut && !isSigningIn()) void askAgain();
  });
  watchGuards(() => {
    // a guard may be renewed in the same moment
    if (present().signedOut) setTimeout(() => !isGuarded() && void settle());
  });
  const isBack = () => {
    if (present().signedOut && document.visibilityState === 'visible') void askAgain();
  };
  addEventListener('focus', isBack);
  document.addEventListener('visibilitychange', isBack);
  leaveToAnother();
}

/** Whether the page is one for signing in, where a refusal is about what was typed. */
function isSigningIn(): boolean {
  return pathOf(here().pathname).startsWith('/auth/');
}

function lost(): void {
  // while it is not known who is signed in, or known that nobody is, the page leads to signing in by itself
  if (isSigningIn() || !queries.getQueryData(me.queryKey)) return;
  if (isGuarded()) notice({ signedOut: true });
  else leave();
}

/** Shows the page for signing in, and nothing of before. */
function leave(): void {
  queries.clear();
  forgetSecrets();
  go('/auth/login', { search: { next: `${pathOf(here().pathname)}${here().search}` } });
}

/** Asks who is signed in. When it is the person of before, the page goes on. */
async function askAgain(): Promise<void> {
  const user = await queries.fetchQuery({ ...me, staleTime: 0 }).catch(() => undefined);
  if (!user || !present().signedOut) return;
  notice({ signedOut: false });
  await queries.invalidateQueries();
}

/** Once nothing is unsaved any more, nothing keeps the page of a session that has ended. */
async function settle(): Promise<void> {
  await askAgain();
  if (!present().signedOut || isGuarded()) return;
  notice({ signedOut: false });
  // what was asked meanwhile may have led there already
  if (!isSigningIn()) leave();
}

/** Shows nothing of a person, not even what they have not saved, once another one is signed in. */
function leaveToAnother(): void {
  let person: string | undefined;
  const key = JSON.stringify(me.queryKey);
  queries.getQueryCache().subscribe(({ type, query }) => {
    if (query.queryHash !== key) return;
    // somebody signs in on this page
    if (type === 'removed') person = undefined;
    const user = type === 'updated' ? queries.getQueryData(me.queryKey) : undefined;
    if (!user) return;
    if (person !== undefined && person !== user.id) {
      dropGuards();
      const root = document.getElementById('root');
      if (root) root.hidden = true;
      queries.clear();
      location.assign(serviceUrl('/app/'));
    }
    person = user.id;
  });
}
