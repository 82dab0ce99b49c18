import type { ComponentProps, MouseEvent } from 'react';
import { href, pathOf, type Search } from './address';
import { usePathname } from './location';
import { go } from './navigate';
import { preload } from './pages';

/** What a link to a page takes. */
export interface Target {
  /** The path of the page within the dashboard, such as `/contacts` or `/contacts/<id>`. */
  to: string;
  search?: Search | undefined;
}

type LinkProps = Target & Omit<ComponentProps<'a'>, 'href'> & {
  /** The page stays, with what is not saved on it: the link changes a part of it. */
  stays?: boolean;
  /** Whether the link is that of the present page; found out by the path when it is not given. */
  current?: boolean;
};

/** A link to a page of the dashboard. Its code is loaded when somebody comes near it. */
export function Link({ to, search, current, stays = false, onClick, children, ...rest }: LinkProps) {
  const path = pathOf(usePathname());
  const isCurrent = current ?? (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`));
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
      return;
    }
    event.preventDefault();
    go(to, { stays, ...(search && { search }) });
  };
  return (
    <a
      href={href(to, search)}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={follow}
      onPointerEnter={() => preload(to)}
      onFocus={() => preload(to)}
      {...rest}
    >
      {children}
    </a>
  );
}
