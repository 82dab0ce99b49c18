import { useQuery } from '@tanstack/react-query';
import { Copy, RefreshCw, Users } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { go, oneOf, useParam, useSearchState } from '#/router';
import { dropGuards } from '#/router/navigate';
import { Button, LinkButton, TextLink } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, Tag } from '#/ui/status';
import { Tab, Tabs } from '#/ui/tabs';
import { done, failed } from '#/ui/toast';
import { Unsaved } from '#/ui/unsaved';
import { ConditionTab } from './ConditionTab';
import { MembersTab } from './MembersTab';
import { type Segment, segment } from './queries';
import { SettingsTab } from './SettingsTab';
import { SizeChart } from './SizeChart';
import { t } from './texts';

const TABS = ['members', 'condition', 'settings'] as const;
const SEARCH = { tab: oneOf(TABS) };

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(segment(id));

/** A segment: who is in it, why, and how it is called. */
export default function DetailPage() {
  const id = useParam('id');
  const found = useQuery(segment(id));
  if (found.error && !found.data) {
    return (
      <Page title={t.of} above={<TextLink to="/segments">{t.back}</TextLink>}>
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      </Page>
    );
  }
  if (!found.data) {
    return (
      <Page title={t.of}>
        <Skeleton rows={6} />
      </Page>
    );
  }
  return <Shown segment={found.data} />;
}

function Shown({ segment: shown }: { segment: Segment }) {
  const [{ tab }] = useSearchState(SEARCH);
  const [busy, setBusy] = useState(false);
  const { id, name, type } = shown;
  const isDynamic = type === 'DYNAMIC';
  const open = tab === 'condition' && !isDynamic ? 'members' : tab;
  const recount = async () => {
    setBusy(true);
    try {
      if (shown.trackMembership) {
        const { added, removed, total } = await call(api.POST('/segments/{id}/compute', { params: { path: { id } } }));
        done(t.computed(added, removed, total));
      } else {
        const { memberCount } = await call(api.POST('/segments/{id}/refresh', { params: { path: { id } } }));
        done(t.recounted(memberCount));
      }
      await queries.invalidateQueries({ queryKey: projectKey('segments') });
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  const leave = () => {
    dropGuards();
    go('/segments', { replace: true });
  };
  return (
    <Page
      title={name}
      above={<TextLink to="/segments">{t.back}</TextLink>}
      lead={shown.description ?? undefined}
      actions={
        <>
          {isDynamic && (
            <>
              <Button busy={busy} onClick={() => void recount()}>
                <Icon of={RefreshCw} size={14} />
                {shown.trackMembership ? t.compute : t.recount}
              </Button>
              <LinkButton to="/segments/new" search={{ condition: JSON.stringify(shown.condition) }}>
                <Icon of={Copy} size={14} />
                {t.duplicate}
              </LinkButton>
            </>
          )}
        </>
      }
    >
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="inline-flex items-center gap-1.5 font-medium">
          <Icon of={Users} size={14} />
          {t.count(shown.memberCount)}
        </span>
        <Tag>{t.types[type]}</Tag>
        {shown.trackMembership && isDynamic && <Status tone="accent">{t.trackedNote}</Status>}
      </p>
      <Tabs label={t.sections}>
        {TABS.filter((one) => one !== 'condition' || isDynamic).map((one) => (
          <Tab key={one} to={`/segments/${id}`} search={{ tab: one === 'members' ? '' : one }} current={open === one}>
            {t.tabs[one]}
          </Tab>
        ))}
      </Tabs>
      {open === 'members' && <SizeChart segment={id} />}
      {open === 'members' && <MembersTab segment={shown} />}
      {open === 'condition' && (
        <Unsaved stored={JSON.stringify(shown.condition)}>{(onDirty) => <ConditionTab segment={shown} onDirty={onDirty} />}</Unsaved>
      )}
      {open === 'settings' && (
        <Unsaved stored={JSON.stringify([name, shown.description, shown.trackMembership])}>
          {(onDirty) => <SettingsTab segment={shown} onDirty={onDirty} onGone={leave} />}
        </Unsaved>
      )}
    </Page>
  );
}
