import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button, TextLink } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Tag } from '#/ui/status';
import { Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { migration, migrationPreview, refresh, versions, type Workflow } from './queries';
import { t } from './texts';

const SEARCH = { job: text };

/** The versions of a workflow, and moving executions to the one in force. */
export default function VersionsTab({ workflow, active }: { workflow: Workflow; active: number }) {
  const [{ job }, setSearch] = useSearchState(SEARCH);
  const { data, error, refetch } = useQuery(versions(workflow.id));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={6} />;
  if (data.length === 0) return <Empty title={t.noVersions}>{t.noVersionsText}</Empty>;
  return (
    <div className="max-w-4xl space-y-6">
      {workflow.version && data.length > 1 && (
        <Section title={t.migrate} lead={t.migrateLead}>
          {job ? (
            <Moving workflow={workflow.id} job={job} />
          ) : active > 0 ? (
            <Moves workflow={workflow} version={workflow.version} onMoving={(id) => setSearch({ job: id })} />
          ) : (
            <p className="text-muted">{t.nothingToMove}</p>
          )}
        </Section>
      )}
      <Section title={t.tabs.versions} lead={t.versionsLead}>
        <Table
          label={t.tabs.versions}
          rows={data}
          rowKey={(row) => String(row.number)}
          columns={[
            {
              name: t.versionColumns.number,
              cell: (row) => (
                <span className="flex items-center gap-2 font-medium">
                  {number(row.number)}
                  {row.number === workflow.version && <Tag>{t.inForce}</Tag>}
                </span>
              ),
            },
            { name: t.versionColumns.since, cell: (row) => <Time at={row.createdAt} /> },
            { name: t.versionColumns.until, wideOnly: true, cell: (row) => (row.replacedAt ? <Time at={row.replacedAt} /> : '–') },
            { name: t.versionColumns.executions, right: true, cell: (row) => number(row.executions) },
          ]}
        />
        <p className="mt-3 text-meta text-muted">{t.graphOfPast}</p>
      </Section>
    </div>
  );
}

/** Which executions would move, and which would stay. */
function Moves({ workflow, version, onMoving }: { workflow: Workflow; version: number; onMoving: (job: string) => void }) {
  const [asks, setAsks] = useState(false);
  const { data, error, refetch } = useQuery(migrationPreview(workflow.id, version));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={3} />;
  const count = data.moves.reduce((sum, move) => sum + move.count, 0);
  const stay = data.stays.reduce((sum, one) => sum + one.count, 0);
  if (count + stay === 0) return <p className="text-muted">{t.nothingToMove}</p>;
  const move = async () => {
    const { id } = workflow;
    const begun = await call(api.POST('/workflows/{id}/migrate', { params: { path: { id } }, body: { dryRun: false } }));
    if (begun.jobId) onMoving(begun.jobId);
    await refresh(id);
  };
  return (
    <div className="space-y-4">
      <ul className="list-disc space-y-1 pl-5">
        {data.moves.map((one) => (
          <li key={one.stepId}>
            <TextLink to={`/workflows/${workflow.id}`} search={{ step: one.stepId }}>
              {t.moves(one.count, one.stepName)}
            </TextLink>
          </li>
        ))}
      </ul>
      {stay > 0 && <Stays workflow={workflow.id} migration={data} />}
      {count > 0 && (
        <Button variant="primary" onClick={() => setAsks(true)}>
          {t.moveAction(count)}
        </Button>
      )}
      <Confirm open={asks} onClose={() => setAsks(false)} title={t.moveTitle} action={t.moveAction(count)} danger={false} onConfirm={move}>
        <p>{t.moveText}</p>
      </Confirm>
    </div>
  );
}

function reasonOf(reason: string, count: number): string {
  if (reason === 'no_step' || reason === 'would_repeat' || reason === 'request') return t.stays[reason](count);
  return `${number(count)} ${reason}`;
}

function Stays({ workflow, migration: plan }: { workflow: string; migration: Schemas['MigrationView'] }) {
  return (
    <div>
      <h3 className="font-medium">{t.staysTitle}</h3>
      <ul className="mt-1 list-disc space-y-1 pl-5">
        {plan.stays.map((one) => (
          <li key={one.reason}>{reasonOf(one.reason, one.count)}</li>
        ))}
      </ul>
      <details className="mt-2">
        <summary>{t.staying}</summary>
        <ul className="mt-1 space-y-1 pl-5">
          {plan.staying.map((one) => (
            <li key={one.executionId}>
              <TextLink to={`/workflows/${workflow}`} search={{ tab: 'executions', execution: one.executionId }}>
                <code className="font-mono text-meta break-all">{one.executionId}</code>
              </TextLink>{' '}
              <span className="text-muted">{reasonOf(one.reason, 1)}</span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** How the migration goes. */
function Moving({ workflow, job }: { workflow: string; job: string }) {
  const { data, error } = useQuery(migration(workflow, job));
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Skeleton rows={2} />;
  if (data.state === 'failed') return <Banner tone="bad">{`${t.jobFailed}: ${data.failedReason ?? ''}`}</Banner>;
  if (data.state === 'completed' && data.result) {
    return (
      <div role="status">
        <Banner tone="good">{t.moved(data.result.moved, data.result.stayed)}</Banner>
      </div>
    );
  }
  return <Progress value={data.progress} label={t.moving} />;
}
