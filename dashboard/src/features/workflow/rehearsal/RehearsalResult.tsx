import { Suspense, useMemo } from 'react';
import type { Schemas } from '#/api/client';
import { compact, duration, moment, number } from '#/i18n/format';
import { lazyPart } from '#/router/lazy';
import { Button } from '#/ui/button';
import { Figure, Section } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { Table } from '#/ui/table';
import type { Overlay } from '../editor/elements';
import { t as editor } from '../editor/texts';
import { ExecutionState } from '../execution/ExecutionState';
import { type LoggedStep, StepLog } from '../execution/StepLog';
import { t as executions } from '../execution/texts';
import { asConfig, entering, type Graph, leaving, portOf, stepAt, textAt } from '../model/graph';
import { useNames } from '../names';
import { portName } from '../step/summary';
import type { ExecutionStatus, Workflow } from '../queries';
import { signed, sumOf } from './given';
import { t } from './texts';

const GraphView = lazyPart(() => import('../editor/GraphView'));

type Simulation = Schemas['Simulation'];
type Summary = Schemas['SimulationSummary'];
type SimulatedStep = Summary['steps'][number];

/** What a rehearsal came to: figures, the graph with numbers, a table of the steps, and what happened to one contact. */
export function RehearsalResult({ workflow, graph, result, comparedWith, onGive }: {
  workflow: Workflow;
  graph: Graph;
  result: Simulation;
  comparedWith: number;
  /** Goes on to events that a person gives. */
  onGive: () => void;
}) {
  const { summary, compared, differing, trace } = result;
  const names = useNames(workflow);
  const overlay = useMemo(() => overlayOf(graph, summary), [graph, summary]);
  const than = (value: (of: Summary) => number) => {
    const difference = compared ? signed(value(summary) - value(compared), number) : '';
    return difference ? `${difference} · ${t.other(comparedWith)}` : undefined;
  };
  return (
    <div className="space-y-6" role="status">
      {summary.events === 0 && (
        <Banner
          tone="warn"
          action={
            <Button size="small" onClick={onGive}>
              {t.whats.events}
            </Button>
          }
        >
          {t.nothingRecorded}
        </Banner>
      )}
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-5">
        <Figure name={t.figures.contacts} value={number(summary.contacts)} note={t.eventsLooked(summary.events)} />
        <Figure name={t.figures.entered} value={number(summary.entered)} note={than((of) => of.entered)} />
        <Figure name={t.figures.mails} value={number(summary.mails)} note={than((of) => of.mails)} />
        <Figure name={t.figures.converted} value={number(summary.converted)} note={than((of) => of.converted)} />
        {compared && <Figure name={t.figures.differing} value={number(differing)} note={t.other(comparedWith)} />}
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Counts title={t.statusesTitle} counts={summary.statuses} nameOf={(name) => executions.statuses[name as ExecutionStatus] ?? name} />
        <Counts title={t.refusedTitle} counts={summary.refused} nameOf={(name) => executions.reasons[name as Schemas['Refused']] ?? name} />
      </div>
      <Suspense fallback={<Skeleton rows={8} />}>
        <GraphView graph={graph} names={names} overlay={overlay} label={t.overGraph} onOpen={() => undefined} />
      </Suspense>
      <Section title={compared ? t.compareTitle(comparedWith) : t.bySteps} lead={compared ? t.compareLead : undefined}>
        <Steps graph={graph} summary={summary} compared={compared ?? undefined} />
      </Section>
      {trace && <Trace trace={trace} />}
    </div>
  );
}

function overlayOf(graph: Graph, summary: Summary): Overlay {
  const steps = new Map(summary.steps.map((step) => [step.stepId, step]));
  const figures = new Map(
    summary.steps.map((step) => [
      step.stepId,
      {
        first: compact(step.entered),
        second: step.waiting > 0 ? editor.waiting(compact(step.waiting)) : undefined,
        title: `${t.columns.entered}: ${number(step.entered)}, ${t.columns.waiting}: ${number(step.waiting)}, ${t.columns.completed}: ${number(step.completed)}`,
      },
    ]),
  );
  const counts = new Map<string, string>();
  for (const way of graph.ways) {
    const [from, to] = [steps.get(way.from), steps.get(way.to)];
    const port = portOf(way);
    const branch = from?.branches[port.branch ?? port.outcome ?? ''];
    if (branch !== undefined) counts.set(way.id, compact(branch));
    else if (to && entering(graph, way.to).length === 1) counts.set(way.id, compact(to.entered));
    else if (from && leaving(graph, way.from).length === 1 && port.key === '') counts.set(way.id, compact(from.completed + sumOf(from.skipped)));
  }
  return { figures, counts };
}

function Counts({ title, counts, nameOf }: { title: string; counts: Readonly<Record<string, number>>; nameOf: (name: string) => string }) {
  const rows = Object.entries(counts);
  if (rows.length === 0) return null;
  return (
    <section className="rounded-card border border-line bg-panel p-4">
      <h2 className="font-medium">{title}</h2>
      <dl className="mt-2 grid grid-cols-[1fr_auto] gap-x-4 gap-y-1">
        {rows.map(([name, count]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{nameOf(name)}</dt>
            <dd className="text-right">{number(count)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** What a branch of a step is called, or an outcome of its wait. */
function branchName(graph: Graph, id: string, branch: string): string {
  const step = stepAt(graph, id);
  if (!step) return branch;
  const isOutcome = branch === 'EVENT' || branch === 'TIMEOUT';
  return portName(step, isOutcome && step.type === 'WAIT_FOR_EVENT' ? { branch: null, outcome: branch } : { branch, outcome: null });
}

function Steps({ graph, summary, compared }: { graph: Graph; summary: Summary; compared: Summary | undefined }) {
  const others = new Map((compared?.steps ?? []).map((step) => [step.stepId, step]));
  const cell = (value: (step: SimulatedStep) => number) => (step: SimulatedStep) => {
    const other = others.get(step.stepId);
    const difference = compared ? signed(value(step) - (other ? value(other) : 0), number) : '';
    return (
      <>
        {number(value(step))}
        {difference && <span className="text-muted"> ({difference})</span>}
      </>
    );
  };
  const gone = (compared?.steps ?? []).filter((step) => !summary.steps.some((one) => one.stepId === step.stepId));
  const none: Omit<SimulatedStep, 'stepId' | 'name' | 'type'> = { entered: 0, waiting: 0, completed: 0, failed: 0, skipped: {}, branches: {}, mails: {}, averageWaitMs: 0, longestWaitMs: 0 };
  const rows = [...summary.steps, ...gone.map((step) => Object.assign({}, step, none))];
  return (
    <Table
      label={t.bySteps}
      rows={rows}
      rowKey={(step) => step.stepId}
      columns={[
        {
          name: t.columns.step,
          cell: (step) => (
            <>
              <span className="font-medium break-words">{step.name}</span>
              {Object.keys(step.branches).length > 0 && (
                <span className="block text-meta text-muted tabular">
                  {Object.entries(step.branches).map(([branch, count]) => `${branchName(graph, step.stepId, branch)} ${number(count)}`).join(' · ')}
                </span>
              )}
            </>
          ),
        },
        { name: t.columns.entered, right: true, cell: cell((step) => step.entered) },
        { name: t.columns.waiting, right: true, cell: cell((step) => step.waiting) },
        { name: t.columns.completed, right: true, wideOnly: true, cell: cell((step) => step.completed) },
        { name: t.columns.skipped, right: true, wideOnly: true, cell: cell((step) => sumOf(step.skipped)) },
        { name: t.columns.failed, right: true, wideOnly: true, cell: cell((step) => step.failed) },
        { name: t.columns.mails, right: true, cell: cell((step) => sumOf(step.mails)) },
        {
          name: t.columns.wait,
          right: true,
          wideOnly: true,
          cell: (step) => (step.averageWaitMs > 0 ? <span title={t.longest(duration(step.longestWaitMs))}>{duration(step.averageWaitMs)}</span> : ''),
        },
      ]}
    />
  );
}

function logged(value: unknown): LoggedStep {
  const step = asConfig(value);
  return {
    stepId: textAt(step, 'stepId'),
    name: textAt(step, 'name'),
    type: textAt(step, 'type') as LoggedStep['type'],
    status: textAt(step, 'status') as LoggedStep['status'],
    startedAt: textAt(step, 'startedAt'),
    completedAt: textAt(step, 'completedAt') || null,
    executeAfter: textAt(step, 'executeAfter') || null,
    error: textAt(step, 'error') || null,
    output: step.output,
  };
}

function Trace({ trace }: { trace: readonly unknown[] }) {
  return (
    <Section title={t.trace}>
      {trace.length === 0 && <p className="text-muted">{t.noTrace}</p>}
      <div className="space-y-4">
        {trace.map(asConfig).map((execution) => {
          const at = textAt(execution, 'startedAt');
          const steps: readonly unknown[] = Array.isArray(execution.stepExecutions) ? execution.stepExecutions : [];
          return (
            <section key={at} aria-label={t.traceOf(moment(at))}>
              <h3 className="flex flex-wrap items-center gap-x-3 font-medium">
                {t.traceOf(moment(at))}
                <ExecutionState status={textAt(execution, 'status') as ExecutionStatus} converted={execution.converted === true} />
              </h3>
              <StepLog label={t.traceOf(moment(at))} steps={steps.map(logged)} />
            </section>
          );
        })}
      </div>
    </Section>
  );
}
