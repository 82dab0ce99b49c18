import { Menu as MenuIcon, Search, X } from 'lucide';
import { type ReactNode, Suspense, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { usePathname } from '#/router/location';
import { isLost, onReach } from '#/api/reach';
import { useProject } from '#/features/project/open';
import { go, Link } from '#/router';
import { lazyPart } from '#/router/lazy';
import { Banner } from '#/ui/status';
import { IconButton, TextLink } from '#/ui/button';
import { classes } from '#/ui/classes';
import { useListEntry } from './list-keys';
import { NAVIGATION } from './navigation';
import { ProjectMenu } from './project-menu';
import { useShortcuts } from './shortcuts';
import { t } from './texts';
import { UserMenu } from './user-menu';
import { Icon } from '#/ui/icon';

const Palette = lazyPart(() => import('./palette'), 'floats');
/** The keys that open the palette, as this person's keyboard has them. */
const PALETTE_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : t.paletteKeys;

/** What surrounds every page of a project: navigation, the project, the person, and the palette of commands. */
export function Frame({ children }: { children: ReactNode }) {
  const project = useProject();
  const main = useRef<HTMLElement>(null);
  const [opened, setOpened] = useState(false);
  const [palette, setPalette] = useState<'closed' | 'commands' | 'shortcuts'>('closed');
  const path = usePathname();
  useEffect(() => setOpened(false), [path]);
  const actions = useMemo(() => {
    const all: Record<string, () => void> = {
      'mod+k': () => setPalette('commands'),
      '?': () => setPalette('shortcuts'),
      '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
      'n c': () => go('/contacts', { search: { add: true } }),
      'n t': () => go('/templates/create'),
      'n m': () => go('/campaigns/create'),
      'n w': () => go('/workflows', { search: { add: true } }),
    };
    for (const page of NAVIGATION.flatMap((group) => group.pages)) {
      if (page.key) all[`g ${page.key}`] = () => go(page.to);
    }
    return all;
  }, []);
  useShortcuts(actions);
  useListEntry(main);

  return (
    <div className="flex min-h-dvh">
      <button
        type="button"
        onClick={() => main.current?.focus()}
        className="sr-only z-50 rounded-control bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t.skip}
      </button>
      {opened && <div className="fixed inset-0 z-20 bg-black/40 md:hidden" onClick={() => setOpened(false)} aria-hidden />}
      <div
        className={classes(
          'fixed inset-y-0 left-0 z-30 flex w-56 flex-col border-r border-line bg-panel',
          'md:sticky md:top-0 md:h-dvh md:visible md:translate-x-0',
          opened ? '' : 'max-md:invisible max-md:-translate-x-full',
        )}
      >
        <div className="flex items-center gap-1 border-b border-line p-2">
          <ProjectMenu />
          <IconButton label={t.openNavigation} className="md:hidden" onClick={() => setOpened(false)}>
            <Icon of={X} size={16} />
          </IconButton>
        </div>
        <button
          type="button"
          onClick={() => setPalette('commands')}
          className="m-2 mb-0 flex h-8 items-center gap-2 rounded-control border border-control bg-canvas px-2 text-muted hover:text-ink pointer-coarse:h-11"
        >
          <Icon of={Search} size={14} />
          <span className="flex-1 truncate text-left">{t.search}</span>
          <kbd className="font-sans text-meta">{PALETTE_KEYS}</kbd>
        </button>
        <nav aria-label={t.navigation} className="flex-1 overflow-y-auto p-2">
          {NAVIGATION.map((group) => (
            <div key={group.name ?? ''} className="mb-3">
              {group.name && <p className="px-2 pb-1 text-meta font-medium text-muted">{group.name}</p>}
              <ul>
                {group.pages.map(({ to, name, icon }) => (
                  <li key={to}>
                    <Link
                      to={to}
                      className={classes(
                        'flex h-8 items-center gap-2 rounded-control px-2 hover:bg-raised pointer-coarse:h-11',
                        'aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent',
                      )}
                    >
                      <Icon of={icon} size={15} />
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div className="border-t border-line p-2">
          <UserMenu onShortcuts={() => setPalette('shortcuts')} />
        </div>
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-panel p-2 md:hidden">
          <IconButton label={t.openNavigation} aria-expanded={opened} onClick={() => setOpened(true)}>
            <Icon of={MenuIcon} size={18} />
          </IconButton>
          <span className="min-w-0 truncate font-medium">{project.name}</span>
        </header>
        <main ref={main} tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          <Lost />
          {project.disabled && (
            <div className="p-4 pb-0">
              <Banner
                tone="bad"
                action={
                  <TextLink to="/settings" search={{ tab: 'security' }}>
                    {t.why}
                  </TextLink>
                }
              >
                {t.disabled}
              </Banner>
            </div>
          )}
          {children}
        </main>
      </div>
      {palette !== 'closed' && (
        <Suspense>
          <Palette mode={palette} onClose={() => setPalette('closed')} />
        </Suspense>
      )}
    </div>
  );
}

/** Says that the service cannot be reached, as long as it is so. */
function Lost() {
  const lost = useSyncExternalStore(onReach, isLost);
  // it is there before, so that screen readers follow it
  return (
    <div role="status" className={lost ? 'p-4 pb-0' : ''}>
      {lost && <Banner tone="bad">{t.lost}</Banner>}
    </div>
  );
}
