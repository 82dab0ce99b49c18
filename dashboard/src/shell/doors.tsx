import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import { usePathname, useSearch } from '#/router/location';
import { ApiError } from '#/api/error';
import { choose, MembershipContext, openProject } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { me } from '#/features/user/queries';
import { href, pathOf, PROJECT } from '#/router/address';
import { go, rewrite } from '#/router/navigate';
import { Skeleton } from '#/ui/skeleton';
import { Failed } from './fallbacks';
import { Frame } from './frame';

/** Goes elsewhere as soon as it is shown. */
function Redirect({ to, next }: { to: string; next?: boolean }) {
  const path = pathOf(usePathname());
  const search = useSearch();
  useEffect(() => {
    const values = next && path !== '/' ? { next: `${path}${search}` } : {};
    go(to, { search: values, replace: true });
    // oxlint-disable-next-line react/exhaustive-deps -- once
  }, []);
  return null;
}

const waiting = <Skeleton rows={6} className="p-6" />;

/** Lets everybody in. */
export function ForAnybody({ children }: { children: ReactNode }) {
  return children;
}

/** Lets in who is signed in. */
export function ForPerson({ children }: { children: ReactNode }) {
  const user = useQuery(me);
  if (user.data === null) return <Redirect to="/auth/login" next />;
  if (user.data) return children;
  if (!user.error) return waiting;
  const unverified = user.error instanceof ApiError && user.error.code === 'EMAIL_VERIFICATION_REQUIRED';
  return unverified ? <Redirect to="/auth/verify-email" /> : <Failed error={user.error} onRetry={() => void user.refetch()} />;
}

/** Lets in the members of a project, opens the project that the address names, and puts the frame around the page. */
export function ForMember({ children }: { children: ReactNode }) {
  return (
    <ForPerson>
      <OfProject>{children}</OfProject>
    </ForPerson>
  );
}

/** Lets in who is signed in, with the frame of a project if they have one: whoever has none still has an account. */
export function ForOwner({ children }: { children: ReactNode }) {
  return (
    <ForPerson>
      <OfProject otherwise={<main tabIndex={-1}>{children}</main>}>{children}</OfProject>
    </ForPerson>
  );
}

/** `otherwise` is shown to whoever has no project; without it they are led to creating one. */
function OfProject({ children, otherwise }: { children: ReactNode; otherwise?: ReactNode }) {
  const user = useQuery(me);
  const all = useQuery(projects);
  const search = useSearch();
  const named = new URLSearchParams(search).get(PROJECT);
  const project = all.data ? choose(all.data, named) : undefined;
  if (project) openProject(project.id);
  const path = pathOf(usePathname());
  useEffect(() => {
    if (!project || named === project.id) return;
    rewrite(href(path, { ...Object.fromEntries(new URLSearchParams(search)), [PROJECT]: project.id }));
  }, [project, named, path, search]);
  const membership = useMemo(
    () => (user.data && project && all.data ? { user: user.data, project, projects: all.data } : undefined),
    [user.data, project, all.data],
  );
  if (all.error && !all.data) return <Failed error={all.error} onRetry={() => void all.refetch()} />;
  if (!all.data) return waiting;
  if (!project) return otherwise ?? <Redirect to="/projects/create" />;
  if (!membership || named !== project.id) return waiting;
  return (
    <MembershipContext value={membership}>
      <Frame key={project.id}>{children}</Frame>
    </MembershipContext>
  );
}
