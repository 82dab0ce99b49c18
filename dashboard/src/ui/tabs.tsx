import { type ComponentProps, type ReactNode, useEffect, useRef } from 'react';
import { Link } from '#/router';

/** Tabs that are links: the address says which one is open. Where they do not all fit, the open one is in sight. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  const nav = useRef<HTMLElement>(null);
  const seen = useRef<Element>(null);
  useEffect(() => {
    const open = nav.current?.querySelector<HTMLElement>('[aria-current=page]');
    if (!nav.current || !open || seen.current === open) return;
    seen.current = open;
    nav.current.scrollLeft = open.offsetLeft - (nav.current.clientWidth - open.offsetWidth) / 2;
  });
  return (
    <nav ref={nav} aria-label={label} className="relative flex gap-1 overflow-x-auto border-b border-line">
      {children}
    </nav>
  );
}

/** A tab. `current` says that it is open. */
export function Tab(props: ComponentProps<typeof Link> & { current: boolean }) {
  return (
    <Link
      className="border-b-2 border-transparent px-2.5 py-2 font-medium whitespace-nowrap text-muted hover:text-ink focus-visible:outline-offset-[-2px] aria-[current=page]:border-accent aria-[current=page]:text-ink"
      {...props}
    />
  );
}
