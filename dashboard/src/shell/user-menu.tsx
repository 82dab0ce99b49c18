import { BookOpen, CircleUser, Keyboard, Languages, LogOut, Moon, Sun } from 'lucide';
import { serviceUrl } from '#/api/base';
import { useMembership } from '#/features/project/open';
import { signOut } from '#/features/user/session';
import { changeLanguage, language } from '#/i18n/language';
import { go } from '#/router';
import { Menu } from '#/ui/menu';
import { useIsDark, useTheme } from './theme';
import { t } from './texts';
import { Icon } from '#/ui/icon';

/** The person who is signed in, and what is theirs: account, theme, language, signing out. */
export function UserMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { user } = useMembership();
  const dark = useIsDark();
  const [, setTheme] = useTheme();
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={`${t.user}: ${user.name ?? user.email}`}
          className="flex h-9 w-full min-w-0 items-center gap-2 rounded-control px-2 text-left hover:bg-raised pointer-coarse:h-11"
        >
          <Icon of={CircleUser} size={16} />
          <span className="min-w-0 flex-1 truncate">{user.name ?? user.email}</span>
        </button>
      }
      entries={[
        {
          text: t.account,
          icon: <Icon of={CircleUser} size={14} />,
          onSelect: () => go('/account'),
        },
        {
          text: dark ? t.light : t.dark,
          icon: dark ? <Icon of={Sun} size={14} /> : <Icon of={Moon} size={14} />,
          onSelect: () => setTheme(dark ? 'light' : 'dark'),
        },
        {
          text: t.language,
          lang: language === 'de' ? 'en' : 'de',
          icon: <Icon of={Languages} size={14} />,
          onSelect: () => changeLanguage(language === 'de' ? 'en' : 'de'),
        },
        { text: t.shortcuts, icon: <Icon of={Keyboard} size={14} />, onSelect: onShortcuts },
        { text: t.apiReference, icon: <Icon of={BookOpen} size={14} />, href: serviceUrl('/docs') },
        'line',
        { text: t.signOut, icon: <Icon of={LogOut} size={14} />, onSelect: () => void signOut() },
      ]}
    />
  );
}
