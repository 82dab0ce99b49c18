import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { exitReasonText } from '#/features/workflow/execution/exit-reason';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status, Tag, type Tone } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { LoadMore } from './LoadMore';
import { executionsOf, segmentsOf } from './queries';
import { t } from './texts';

type InSegment = Schemas['SegmentOfContact'];
type Execution = Schemas['CursorPage_ContactExecution']['data'][number];

const SEGMENT_COLUMNS: readonly Column<InSegment>[] = [
  { name: t.segment, cell: (one) => <TextLink to={`/segments/${one.id}`}>{one.name}</TextLink> },
  { name: t.type, cell: (one) => <Tag>{t.segmentTypes[one.type]}</Tag> },
  { name: t.since, right: true, cell: (one) => one.since && <Time at={one.since} /> },
];

const TONES: Record<Execution['status'], Tone> = {
  RUNNING: 'accent',
  WAITING: 'accent',
  COMPLETED: 'good',
  EXITED: 'muted',
  FAILED: 'bad',
  CANCELLED: 'muted',
};

const EXECUTION_COLUMNS: readonly Column<Execution>[] = [
  {
    name: t.workflow,
    cell: (one) => (
      <TextLink to={`/workflows/${one.workflowId}`} search={{ tab: 'executions' }}>
        {one.workflow.name}
      </TextLink>
    ),
  },
  { name: t.status, cell: (one) => <Status tone={TONES[one.status]}>{t.executionStatuses[one.status]}</Status> },
  { name: t.step, wideOnly: true, cell: (one) => one.currentStep?.name ?? exitReasonText(one.exitReason ?? '') },
  { name: t.since, right: true, cell: (one) => <Time at={one.since} /> },
];

/** The segments that a contact is in, and its ways through workflows. */
export function Places({ contact }: { contact: string }) {
  const segments = useQuery(segmentsOf(contact));
  const executions = useInfiniteQuery(executionsOf(contact));
  const ways = executions.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className="space-y-6">
      <Section title={t.segments}>
        {segments.error && !segments.data ? (
          <Problem error={segments.error} onRetry={() => void segments.refetch()} />
        ) : !segments.data ? (
          <Skeleton />
        ) : (
          <div className="space-y-3">
            {!segments.data.complete && <Banner tone="muted">{t.incomplete}</Banner>}
            {segments.data.data.length === 0 ? (
              <p className="text-muted">{t.noSegments}</p>
            ) : (
              <Table label={t.segments} columns={SEGMENT_COLUMNS} rows={segments.data.data} rowKey={(one) => one.id} />
            )}
          </div>
        )}
      </Section>
      <Section title={t.workflows}>
        {executions.error && !executions.data ? (
          <Problem error={executions.error} onRetry={() => void executions.refetch()} />
        ) : !executions.data ? (
          <Skeleton />
        ) : ways.length === 0 ? (
          <p className="text-muted">{t.noWorkflows}</p>
        ) : (
          <Table label={t.workflows} columns={EXECUTION_COLUMNS} rows={ways} rowKey={(one) => one.id} />
        )}
        <LoadMore of={executions} />
      </Section>
    </div>
  );
}
