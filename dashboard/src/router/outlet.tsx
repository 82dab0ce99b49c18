import { Component, createContext, type ReactNode, Suspense, useContext, useEffect, useRef } from 'react';
import { ApiError } from '#/api/error';
import { Failed, NotFound } from '#/shell/fallbacks';
import { isMissingPart, reloadAfterUpgrade } from '#/shell/upgrade';
import { Skeleton } from '#/ui/skeleton';
import { pathOf } from './address';
import { usePathname } from './location';
import { pageAt } from './pages';

const Params = createContext<Record<string, string>>({});

/** A value in the path of the page: `useParam('id')` at `/contacts/:id`. */
export function useParam(name: string): string {
  return useContext(Params)[name] ?? '';
}

/** What a page that throws becomes, until the next one is opened. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override componentDidCatch(error: unknown) {
    if (isMissingPart(error)) void reloadAfterUpgrade();
  }
  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    // code that failed to load, or to draw, would fail the same way again
    const retry = error instanceof ApiError ? () => this.setState({ error: undefined }) : () => location.reload();
    return <Failed error={error} onRetry={retry} />;
  }
}

type Door = (props: { children: ReactNode }) => ReactNode;

/** Shows the page at the present path, behind the door for those who may see it. */
export function Outlet({ doors }: { doors: Record<'anybody' | 'person' | 'owner' | 'member', Door> }) {
  const path = pathOf(usePathname());
  const found = pageAt(path);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    scrollTo(0, 0);
    // those who do not see the page are told that it is another one
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  }, [path]);
  const Door = doors[found?.for ?? 'owner'];
  if (!found) {
    return (
      <Door>
        <NotFound />
      </Door>
    );
  }
  const { Page } = found;
  return (
    <Door>
      <Boundary key={path}>
      <Params value={found.params}>
        <Suspense fallback={<Skeleton rows={6} className="p-6" />}>
          <Page />
        </Suspense>
      </Params>
    </Boundary>
    </Door>
  );
}
