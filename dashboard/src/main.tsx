import './styles.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from '#/api/query';
import { expectProject } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { me } from '#/features/user/queries';
import { pathOf, PROJECT } from '#/router/address';
import { lazyPart } from '#/router/lazy';
import { here } from '#/router/location';
import { followHistory } from '#/router/navigate';
import { Outlet } from '#/router/outlet';
import { askFor, pageAt, preload, setPages } from '#/router/pages';
import { ForAnybody, ForMember, ForOwner, ForPerson } from '#/shell/doors';
import { NoticeBar } from '#/shell/notice-bar';
import { followSession } from '#/shell/session';
import { noteMissingParts } from '#/shell/upgrade';
import { useToasts } from '#/ui/toast';
import { ROUTES } from './routes';

// styles that libraries add while running carry the nonce of the page
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce;
if (nonce) setNonce(nonce);

noteMissingParts();
followHistory();
setPages(ROUTES);
followSession();
begin(here());

const DOORS = { anybody: ForAnybody, person: ForPerson, owner: ForOwner, member: ForMember };
const Toasts = lazyPart(() => import('#/ui/toasts'), 'floats');

/** Asks for all that the first page wants, at once: nothing of it need wait until it is known who asks. */
function begin({ pathname, search }: { pathname: string; search: string }): void {
  const path = pathOf(pathname);
  preload(path);
  if (pageAt(path)?.for === 'anybody') return;
  void queries.prefetchQuery(me);
  void queries.prefetchQuery(projects);
  if (expectProject(new URLSearchParams(search).get(PROJECT))) askFor(path);
}

function Dashboard() {
  const toasts = useToasts();
  return (
    <QueryClientProvider client={queries}>
      <Outlet doors={DOORS} />
      <NoticeBar />
      {/* it is there before the first toast, so that screen readers follow it */}
      <div role="status" aria-live="polite">
        {toasts.length > 0 && (
          <Suspense>
            <Toasts />
          </Suspense>
        )}
      </div>
    </QueryClientProvider>
  );
}

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Dashboard />
    </StrictMode>,
  );
}
