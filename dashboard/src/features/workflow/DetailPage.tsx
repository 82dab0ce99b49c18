import { useQuery } from '@tanstack/react-query';
import { Suspense, useEffect, useMemo } from 'react';
import { queries } from '#/api/query';
import { number } from '#/i18n/format';
import { Link, oneOf, useParam, useSearchState } from '#/router';
import { lazyPart } from '#/router/lazy';
import { here } from '#/router/location';
import { TextLink } from '#/ui/button';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { Tab, Tabs } from '#/ui/tabs';
import { graphOf } from './model/graph';
import { prepareLayout } from './model/layouter';
import { stats, type Workflow, workflow } from './queries';
import { StateActions } from './StateActions';
import { t } from './texts';
import { underWay } from './underWay';
import { useProblems } from './useProblems';
import { WorkflowState } from './WorkflowState';

const EditorTab = lazyPart(() => import('./editor/EditorTab'));
const ExecutionsTab = lazyPart(() => import('./execution/ExecutionsTab'));
const VersionsTab = lazyPart(() => import('./VersionsTab'));
const RehearsalTab = lazyPart(() => import('./rehearsal/RehearsalTab'));
const SettingsTab = lazyPart(() => import('./SettingsTab'));

const TABS = ['editor', 'executions', 'versions', 'rehearsal', 'settings'] as const;
const SEARCH = { tab: oneOf(TABS) };

/** The editor is large: it need not wait until the workflow is there. */
function prepareEditor(): void {
  EditorTab.preload();
  prepareLayout();
}

/** Asks for what the page shows. */
export function ask({ id = '' }: Record<string, string>): void {
  void queries.prefetchQuery(workflow(id));
  if (!new URLSearchParams(here().search).has('tab')) prepareEditor();
}

/** A workflow: its steps, who goes through it, its versions, rehearsals and settings. */
export default function DetailPage() {
  const id = useParam('id');
  const [{ tab }] = useSearchState(SEARCH);
  const { data, error, refetch } = useQuery(workflow(id));
  useEffect(() => {
    if (tab === 'editor') prepareEditor();
  }, [tab]);
  if (data) return <Known workflow={data} />;
  return (
    <Page title={t.one} full above={<TextLink to="/workflows">{t.back}</TextLink>}>
      {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton rows={9} />}
    </Page>
  );
}

function Known({ workflow: found }: { workflow: Workflow }) {
  const [{ tab }] = useSearchState(SEARCH);
  const graph = useMemo(() => graphOf(found), [found]);
  const problems = useProblems(found, graph);
  const { data: figures } = useQuery(stats(found.id));
  const active = underWay(figures);
  return (
    <Page
      title={found.name}
      full
      above={<TextLink to="/workflows">{t.back}</TextLink>}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <WorkflowState enabled={found.enabled} isDraft={found.isDraft} />
          <span>{found.version ? t.version(found.version) : t.noVersion}</span>
          {figures && figures.entered > 0 && (
            <Link to={`/workflows/${found.id}`} search={{ tab: 'executions' }} current={false} className="tabular underline-offset-2 hover:underline">
              {t.figures(number(figures.entered), number(active))}
            </Link>
          )}
        </span>
      }
      actions={<StateActions workflow={found} graph={graph} problems={problems} active={active} />}
    >
      <Tabs label={t.sections}>
        {TABS.map((one) => (
          <Tab key={one} to={`/workflows/${found.id}`} search={one === 'editor' ? {} : { tab: one }} current={tab === one}>
            {t.tabs[one]}
          </Tab>
        ))}
      </Tabs>
      {found.enabled && found.isDraft && tab !== 'executions' && <Banner tone="warn">{t.draft(active)}</Banner>}
      {found.enabled && !found.isDraft && active === 0 && tab === 'editor' && <p className="text-muted">{t.atOnce}</p>}
      <Suspense fallback={<Skeleton rows={8} />}>
        {tab === 'editor' && <EditorTab key={found.id} workflow={found} />}
        {tab === 'executions' && <ExecutionsTab workflow={found} graph={graph} />}
        {tab === 'versions' && <VersionsTab workflow={found} active={active} />}
        {tab === 'rehearsal' && <RehearsalTab workflow={found} graph={graph} />}
        {tab === 'settings' && <SettingsTab workflow={found} />}
      </Suspense>
    </Page>
  );
}
