import type { ComponentType } from 'react';
import { lazyPart } from '#/router/lazy';
import { t } from './texts';

/** A tab of the settings: its name in the address, and the module whose default export shows it. */
export interface SettingsTab {
  id: string;
  name: string;
  Body: ComponentType;
  /** Members who are no administrators do not see it. */
  adminsOnly?: boolean;
}

/** The tabs in their order. The first one is open when the address names none. */
export const TABS: readonly [SettingsTab, ...SettingsTab[]] = [
  { id: 'general', name: t.general, Body: lazyPart(() => import('#/features/project/settings/General')) },
  { id: 'domains', name: t.domains, Body: lazyPart(() => import('#/features/domain/SettingsTab')) },
  { id: 'members', name: t.members, Body: lazyPart(() => import('#/features/member/MembersTab')) },
  { id: 'keys', name: t.keys, Body: lazyPart(() => import('#/features/key/KeysTab')) },
  { id: 'api', name: t.api, Body: lazyPart(() => import('./ApiTab')) },
  { id: 'topics', name: t.topics, Body: lazyPart(() => import('#/features/topic/SettingsTab')) },
  { id: 'suppressions', name: t.suppressions, Body: lazyPart(() => import('#/features/suppression/SettingsTab')) },
  { id: 'security', name: t.security, Body: lazyPart(() => import('#/features/project/settings/Security')) },
  { id: 'billing', name: t.billing, Body: lazyPart(() => import('#/features/billing/BillingTab')) },
  { id: 'data', name: t.data, Body: lazyPart(() => import('./DataTab')) },
  { id: 'audit', name: t.audit, Body: lazyPart(() => import('#/features/audit/AuditTab')), adminsOnly: true },
  { id: 'danger', name: t.danger, Body: lazyPart(() => import('#/features/project/settings/Danger')), adminsOnly: true },
];
