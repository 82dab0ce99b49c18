import { Suspense } from 'react';
import { useIsAdmin } from '#/features/project/open';
import { text, useSearchState } from '#/router';
import { Empty } from '#/ui/empty';
import { Page } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { Tab, Tabs } from '#/ui/tabs';
import { TABS } from './tabs';
import { t } from './texts';

const SEARCH = { tab: text };

/** The settings of a project, in tabs. The address names the one that is open. */
export default function Settings() {
  const [{ tab }] = useSearchState(SEARCH);
  const isAdmin = useIsAdmin();
  const open = TABS.find((one) => one.id === tab) ?? TABS[0];
  const { Body } = open;
  return (
    <Page title={t.title}>
      <Tabs label={t.title}>
        {TABS.filter((one) => isAdmin || !one.adminsOnly).map((one) => (
          <Tab key={one.id} to="/settings" search={{ tab: one.id }} current={one === open}>
            {one.name}
          </Tab>
        ))}
      </Tabs>
      {open.adminsOnly && !isAdmin ? (
        <Empty title={t.adminsOnly}>{t.adminsOnlyText}</Empty>
      ) : (
        <Suspense key={open.id} fallback={<Skeleton rows={6} />}>
          <div className="space-y-6">
            <Body />
          </div>
        </Suspense>
      )}
    </Page>
  );
}
