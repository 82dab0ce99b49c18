import { useQuery } from '@tanstack/react-query';
import { Suspense, useMemo, useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { lazyPart } from '#/router/lazy';
import { Button, TextLink } from '#/ui/button';
import { CodeBlock } from '#/ui/copy';
import { Confirm } from '#/ui/dialog';
import { Facts, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import type { Mark } from '../editor/canvas';
import type { Overlay } from '../editor/elements';
import { type Graph, leaving, portOf } from '../model/graph';
import { useNames } from '../names';
import { execution, isActive, refresh, type Workflow } from '../queries';
import { ExecutionState } from './ExecutionState';
import { exitReasonText } from './exit-reason';
import { loggedStep, type LoggedStep, StepLog } from './StepLog';
import { t } from './texts';

const GraphView = lazyPart(() => import('../editor/GraphView'));

const MARKS: Readonly<Record<Schemas['StepStatus'], Mark>> = {
  WAITING: 'waiting',
  RUNNING: 'waiting',
  COMPLETED: 'done',
  SKIPPED: 'skipped',
  FAILED: 'failed',
};

/** The path through the graph: the steps that were taken, and the ways between those that followed each other. */
export function pathOf(graph: Graph, steps: readonly LoggedStep[]): Overlay {
  const marks = new Map<string, Mark>(graph.steps.map((step) => [step.id, 'unseen']));
  const taken = new Set<string>();
  steps.forEach((step, index) => {
    if (marks.has(step.stepId)) marks.set(step.stepId, MARKS[step.status]);
    const next = steps[index + 1];
    if (!next) return;
    const between = leaving(graph, step.stepId).filter((way) => way.to === next.stepId);
    const chosen = JSON.stringify(step.output ?? {});
    // two branches can lead to the same step: the output says which was taken
    const way = between.find((one) => chosen.includes(`"${portOf(one).branch ?? portOf(one).outcome ?? ''}"`)) ?? between[0];
    if (way) taken.add(way.id);
  });
  return { marks, taken };
}

/** An execution: its path, what every step did, and what it was given. */
export function ExecutionDetail({ workflow, graph, id, onBack }: { workflow: Workflow; graph: Graph; id: string; onBack: () => void }) {
  const { data, error, refetch } = useQuery(execution(workflow.id, id));
  const names = useNames(workflow);
  const steps = useMemo(() => (data?.stepExecutions ?? []).map(loggedStep), [data]);
  const overlay = useMemo(() => pathOf(graph, steps), [graph, steps]);
  const back = (
    <Button variant="ghost" onClick={onBack}>
      ← {t.back}
    </Button>
  );
  if (!data) {
    return (
      <div className="space-y-4">
        {back}
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton rows={6} />}
      </div>
    );
  }
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        {back}
        {isActive(data.status) && <CancelOne workflow={workflow.id} id={id} />}
      </div>
      <h2 className="text-section font-semibold break-words">{t.of(data.contact.email ?? t.noContact)}</h2>
      {workflow.version && data.version !== workflow.version && <Banner tone="muted">{t.oldVersion(data.version, workflow.version)}</Banner>}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0 space-y-4">
          <Suspense fallback={<Skeleton rows={8} />}>
            <GraphView graph={graph} names={names} overlay={overlay} label={t.path} onOpen={() => undefined} />
          </Suspense>
          <Section title={t.facts.context}>
            {data.context && Object.keys(data.context).length > 0 ? (
              <CodeBlock code={JSON.stringify(data.context, undefined, 2)} what={t.facts.context} />
            ) : (
              <p className="text-muted">{t.noContext}</p>
            )}
          </Section>
        </div>
        <div className="min-w-0 space-y-4">
          <section className="rounded-card border border-line bg-panel p-4">
            <ExecutionFacts workflow={workflow.id} execution={data} />
          </section>
          <section className="rounded-card border border-line bg-panel p-4 pb-2">
            <h3 className="font-medium">{t.steps}</h3>
            <StepLog steps={steps} label={t.steps} />
          </section>
        </div>
      </div>
    </div>
  );
}

function ExecutionFacts({ workflow, execution: found }: { workflow: string; execution: Schemas['ExecutionDetail'] }) {
  const { contact } = found;
  const rows: (readonly [string, React.ReactNode])[] = [
    [t.facts.status, <ExecutionState key="status" status={found.status} converted={found.converted} />],
    ...(found.exitReason ? [[t.facts.reason, exitReasonText(found.exitReason)] as const] : []),
    [
      t.facts.contact,
      <span key="contact" className="flex flex-col items-start gap-1 [&>a]:inline-flex [&>a]:min-h-6 [&>a]:items-center">
        <TextLink to={`/contacts/${contact.id}`}>{contact.email ?? t.noContact}</TextLink>
        {contact.email && (
          <TextLink to={`/workflows/${workflow}`} search={{ tab: 'executions', contact: contact.email }} current={false}>
            {t.why}
          </TextLink>
        )}
      </span>,
    ],
    [t.facts.version, number(found.version)],
    [t.facts.started, <Time key="started" at={found.startedAt} />],
    ...(found.completedAt ? [[t.facts.ended, <Time key="ended" at={found.completedAt} />] as const] : []),
  ];
  return <Facts rows={rows} />;
}

function CancelOne({ workflow, id }: { workflow: string; id: string }) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button onClick={() => setAsks(true)}>{t.cancel}</Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={t.cancelTitle}
        action={t.cancel}
        onConfirm={async () => {
          await call(api.DELETE('/workflows/{id}/executions/{executionId}', { params: { path: { id: workflow, executionId: id } } }));
          await refresh(workflow);
          done(t.cancelled);
        }}
      >
        <p>{t.cancelText}</p>
      </Confirm>
    </>
  );
}
