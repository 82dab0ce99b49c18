import { Component, type ComponentType, lazy, type LazyExoticComponent, type ReactNode } from 'react';
import { isMissingPart, noteMissing, reloadAfterUpgrade } from '#/shell/upgrade';
import { Button } from '#/ui/button';
import { Problem } from '#/ui/problem';
import { t } from '#/ui/texts';

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** After how many milliseconds a part that could not be loaded is asked for again. */
const WAITS_MS = [300, 1_500];

/** What the error of a style sheet that could not be loaded says. Vite asks for each only once. */
const STYLES = /^Unable to preload CSS for (\S+)$/;

/** Loads a style sheet again, in the place of the one that failed. */
function loadStyles(address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = address;
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(`Unable to preload CSS for ${address}`));
    });
    document.head.append(link);
  });
}

/** Code that is loaded when it is shown. */
interface Code<P> {
  load: Load<P>;
  /** Loads it before it is shown. */
  preload: () => void;
}

/**
 * Code that is asked for again where loading it fails in passing. Once it is there it is given at once instead of by a
 * promise: React would show something else in its place, and keep that there for 300 ms.
 */
function codeOf<P>(ask: Load<P>): Code<P> {
  let styles: string | undefined;
  let found: { default: ComponentType<P> } | undefined;
  let pending: ReturnType<Load<P>> | undefined;
  const loading = async () => {
    for (let count = 0; ; count += 1) {
      try {
        if (styles !== undefined) await loadStyles(styles);
        styles = undefined;
        found = await ask();
        return found;
      } catch (error) {
        styles ??= error instanceof Error ? STYLES.exec(error.message)?.[1] : undefined;
        const wait = WAITS_MS[count];
        if (wait === undefined) {
          noteMissing(error);
          throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  };
  // one for all: what failed for one of two would be missing in what the other one gives
  const shared = () => (pending ??= loading().finally(() => (pending = undefined)));
  return {
    load: () => (found ? atOnce(found) : shared()),
    preload: () => {
      if (!found) shared().catch(() => undefined);
    },
  };
}

/** What React takes for a promise that is kept already. */
function atOnce<T>(value: T): Promise<T> {
  // oxlint-disable-next-line unicorn/no-thenable -- a promise would be kept only in a moment
  return { then: (keep: (value: T) => void) => keep(value) } as unknown as Promise<T>;
}

/** A page whose code is loaded when it is shown. Where that fails, it fails as a whole. */
export function lazyPage(ask: Load<object>): { Page: LazyExoticComponent<ComponentType>; preload: () => void } {
  const { load, preload } = codeOf(ask);
  return { Page: lazy(load), preload };
}

/**
 * Where the note that a part could not be loaded stands: in its place, or, for what lies above the page or has little room,
 * at the edge of the page.
 */
type Place = 'inPlace' | 'floats';

/**
 * A part of a page whose code is loaded when it is shown. Where that fails, a note in its place offers to try again, and
 * the rest of the page stays, with what is not saved. `instead` is shown beside the note, such as the button that opens it.
 */
export function lazyPart<P extends object>(
  ask: Load<P>,
  place: Place = 'inPlace',
  instead?: (props: P) => ReactNode,
): ComponentType<P> & { preload: () => void } {
  const { load, preload } = codeOf(ask);
  // what failed once is never asked for again
  let Body: ComponentType<P> = lazy(load) as unknown as ComponentType<P>;
  const renew = () => {
    Body = lazy(load) as unknown as ComponentType<P>;
  };
  function Part(props: P) {
    const close = 'onClose' in props && typeof props.onClose === 'function' ? (props.onClose as () => void) : undefined;
    return (
      <Boundary place={place} instead={instead?.(props)} onClose={close} renew={renew}>
        {() => <Body {...props} />}
      </Boundary>
    );
  }
  return Object.assign(Part, { preload });
}

interface BoundaryProps {
  place: Place;
  instead: ReactNode;
  /** Closes the part, where it can be closed. */
  onClose: (() => void) | undefined;
  renew: () => void;
  children: () => ReactNode;
}

/** Keeps the page when a part of it throws. */
class Boundary extends Component<BoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override componentDidCatch(error: unknown) {
    if (isMissingPart(error)) void reloadAfterUpgrade();
  }
  override componentWillUnmount() {
    if (this.state.error !== undefined) this.props.renew();
  }
  override render() {
    const { error } = this.state;
    const { place, instead, onClose, renew, children } = this.props;
    if (error === undefined) return children();
    const retry = () => {
      renew();
      this.setState({ error: undefined });
    };
    const note = (
      <Problem error={new Error(isMissingPart(error) ? t.partMissing : t.partBroken)} onRetry={retry}>
        {onClose && (
          <Button size="small" variant="ghost" onClick={onClose}>
            {t.close}
          </Button>
        )}
      </Problem>
    );
    return (
      <>
        {instead}
        {place === 'floats' ? <div className="pointer-events-auto fixed right-4 bottom-4 z-50 max-w-md shadow-pop">{note}</div> : note}
      </>
    );
  }
}
