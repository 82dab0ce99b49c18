import { Activity, BarChart3, Filter, Inbox, LayoutTemplate, type IconNode, Mail, Megaphone, Route as RouteIcon, ScrollText, Server, Settings, Users, House } from 'lucide';
import { t } from './texts';

/** A page that the navigation and the palette lead to, and the key after G that opens it. */
export interface Destination {
  to: string;
  name: string;
  icon: IconNode;
  key?: string;
}

/** The pages of a project, in groups. */
export const NAVIGATION: readonly { name: string | undefined; pages: readonly Destination[] }[] = [
  { name: undefined, pages: [{ to: '/', name: t.home, icon: House, key: 'h' }] },
  {
    name: t.audience,
    pages: [
      { to: '/contacts', name: t.contacts, icon: Users, key: 'c' },
      { to: '/segments', name: t.segments, icon: Filter, key: 'e' },
    ],
  },
  {
    name: t.sending,
    pages: [
      { to: '/templates', name: t.templates, icon: LayoutTemplate, key: 't' },
      { to: '/campaigns', name: t.campaigns, icon: Megaphone, key: 'm' },
      { to: '/workflows', name: t.workflows, icon: RouteIcon, key: 'w' },
    ],
  },
  {
    name: t.insight,
    pages: [
      { to: '/activity', name: t.activity, icon: Activity, key: 'a' },
      { to: '/analytics', name: t.analytics, icon: BarChart3, key: 'n' },
      { to: '/emails', name: t.emails, icon: Mail, key: 'l' },
      { to: '/mailbox', name: t.inbox, icon: Inbox, key: 'i' },
      { to: '/delivery', name: t.delivery, icon: Server, key: 'd' },
      { to: '/requests', name: t.requests, icon: ScrollText, key: 'r' },
    ],
  },
  { name: t.project, pages: [{ to: '/settings', name: t.settings, icon: Settings, key: 's' }] },
];
