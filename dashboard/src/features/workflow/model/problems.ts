import { now } from '#/i18n/clock';
import { faultsOf } from '../step/check';
import { asConfig, entering, type Graph, isStale, leaving, numberAt, reachable, type Step, stepAt, textAt, triggerOf, type Way } from './graph';

/** Something about a workflow that somebody should look at. */
export interface Problem {
  readonly kind:
    | 'nothing'
    | 'unreachable'
    | 'noTemplate'
    | 'templateGone'
    | 'segmentGone'
    | 'config'
    | 'stale'
    | 'noTimeout'
    | 'past';
  /** Whether it makes executions fail, or is only unlikely to be meant. */
  readonly severity: 'fails' | 'note';
  readonly step: string;
  /** What is wrong, in the words of the form. */
  readonly detail?: string;
  readonly way?: Way;
}

/** What the graph alone does not tell. */
export interface Surroundings {
  /** Steps whose template is there; undefined while nobody knows. */
  readonly withTemplate: ReadonlySet<string>;
  /** Static segments; undefined while they are being loaded. */
  readonly segments: ReadonlySet<string> | undefined;
  readonly triggerType: string;
  readonly triggerConfig: unknown;
}

function ofStep(step: Step, around: Surroundings): Problem[] {
  const found: Problem[] = [];
  if (step.type === 'SEND_EMAIL') {
    const template = step.templateId ?? textAt(step.config, 'templateId');
    if (!template) found.push({ kind: 'noTemplate', severity: 'fails', step: step.id });
    else if (!around.withTemplate.has(step.id)) found.push({ kind: 'templateGone', severity: 'fails', step: step.id });
  }
  const isOfSegment = step.type === 'ADD_TO_SEGMENT' || step.type === 'REMOVE_FROM_SEGMENT';
  if (isOfSegment && around.segments && !around.segments.has(textAt(step.config, 'segmentId'))) {
    found.push({ kind: 'segmentGone', severity: 'fails', step: step.id });
  }
  for (const detail of faultsOf(step.type, step.config).values()) {
    found.push({ kind: 'config', severity: 'fails', step: step.id, detail });
  }
  return found;
}

function ofWays(graph: Graph, step: Step): Problem[] {
  return leaving(graph, step.id)
    .filter((way) => isStale(step, way))
    .map((way) => {
      const isTimeout = way.outcome === 'TIMEOUT' && !numberAt(step.config, 'timeout');
      return { kind: isTimeout ? 'noTimeout' : 'stale', severity: 'note', step: step.id, way } as const;
    });
}

/** Whether a trigger starts once, at a time that has passed. The zone of the project is not known here: a day is granted. */
function isPast(around: Surroundings, at: number): boolean {
  const config = asConfig(around.triggerConfig);
  const repeat = textAt(config, 'repeat') || 'once';
  return around.triggerType === 'SCHEDULE' && repeat === 'once' && Date.parse(textAt(config, 'start')) < at - 86_400_000;
}

/** What to look at before a workflow runs: what fails first. */
export function problemsOf(graph: Graph, around: Surroundings, at = now()): readonly Problem[] {
  const trigger = triggerOf(graph);
  if (!trigger) return [];
  const reached = reachable(graph, trigger.id);
  const found: Problem[] = [];
  if (leaving(graph, trigger.id).length === 0) found.push({ kind: 'nothing', severity: 'note', step: trigger.id });
  if (isPast(around, at)) found.push({ kind: 'past', severity: 'note', step: trigger.id });
  for (const step of graph.steps) {
    // only the first of steps that nothing leads to: those behind it are there with it
    if (!reached.has(step.id) && entering(graph, step.id).length === 0) found.push({ kind: 'unreachable', severity: 'note', step: step.id });
    found.push(...ofStep(step, around), ...ofWays(graph, step));
  }
  return found.filter((problem) => stepAt(graph, problem.step)).toSorted((a, b) => a.severity.localeCompare(b.severity));
}
