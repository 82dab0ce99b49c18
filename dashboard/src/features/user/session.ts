import { serviceUrl } from '#/api/base';
import { api, call } from '#/api/client';
import { leave } from '#/api/live';
import { queries } from '#/api/query';
import { failed } from '#/ui/toast';

/** Goes to the page for signing in. Nothing of who was here stays in the page. */
export function leaveToSignIn(): void {
  location.assign(serviceUrl('/app/auth/login'));
}

/** Ends the session, and leaves nothing of it in this page. What the page still asks for would be refused. */
export async function signOut(): Promise<void> {
  leave(true);
  try {
    await queries.cancelQueries();
    await call(api.GET('/auth/logout'));
  } catch (error) {
    leave(false);
    failed(error);
    return;
  }
  leaveToSignIn();
}
