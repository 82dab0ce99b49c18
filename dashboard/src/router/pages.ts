import type { ComponentType, LazyExoticComponent } from 'react';
import { parse } from 'regexparam';
import { lazyPage } from './lazy';

/** The module of a page. */
interface PageModule {
  /** Shows the page. */
  default: ComponentType;
  /** Asks for what the page shows, by the values in its path. */
  ask?: (params: Record<string, string>) => void;
}

/** A page: its path, and its module. */
export interface PageRoute {
  path: string;
  load: () => Promise<PageModule>;
  /**
   * Who sees it: anybody, somebody who is signed in, or a member of the project that is open (with the frame). `owner`
   * is somebody who is signed in as well, for what is theirs: with the frame where they have a project.
   */
  for: 'anybody' | 'person' | 'owner' | 'member';
}

interface Known extends PageRoute {
  pattern: RegExp;
  keys: string[];
  Page: LazyExoticComponent<ComponentType>;
  preload: () => void;
}

let known: readonly Known[] = [];

/** Makes the pages known. Once, before anything is shown. */
export function setPages(routes: readonly PageRoute[]): void {
  known = routes.map((route) => ({ ...route, ...parse(route.path), ...lazyPage(route.load) }));
}

/** The page at a path, and the values in the path. */
export function pageAt(path: string): (Known & { params: Record<string, string> }) | undefined {
  for (const page of known) {
    const found = page.pattern.exec(path);
    if (!found) continue;
    try {
      const values = page.keys.map((key, index) => [key, decodeURIComponent(found[index + 1] ?? '')]);
      return { ...page, params: Object.fromEntries(values) };
    } catch {
      // `/contacts/%` names nothing
      return undefined;
    }
  }
  return undefined;
}

/**
 * Asks for what a page shows as soon as its module is there, before it is opened. What fails says nothing: the page asks for
 * it again, and shows why.
 */
export function askFor(path: string): void {
  const page = pageAt(path);
  page?.load().then(({ ask }) => ask?.(page.params)).catch(() => undefined);
}

/** Loads the code of a page before it is opened. */
export function preload(path: string): void {
  pageAt(path)?.preload();
}
