import { onlineManager } from '@tanstack/react-query';
import { serviceUrl } from '#/api/base';
import { api, call } from '#/api/client';
import { leave } from '#/api/live';
import { queries } from '#/api/query';
import { dropGuards, mayLeave } from '#/router/navigate';
import { failed } from '#/ui/toast';

/** Goes to the page for signing in. Nothing of who was here stays in the page. */
export function leaveToSignIn(): void {
  dropGuards();
  location.assign(serviceUrl('/app/auth/login'));
}

/**
 * Ends the session, and leaves nothing of it in this page. What is not saved is asked about before: without a session it
 * could not be saved any more.
 */
export async function signOut(): Promise<void> {
  if (!mayLeave()) return;
  // what the page still asks for would be refused: nothing more is asked, as without a network
  leave(true);
  onlineManager.setOnline(false);
  try {
    await queries.cancelQueries();
    await call(api.GET('/auth/logout'));
  } catch (error) {
    leave(false);
    onlineManager.setOnline(true);
    failed(error);
    return;
  }
  leaveToSignIn();
}
