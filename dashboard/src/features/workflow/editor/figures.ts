import type { Schemas } from '#/api/client';
import { compact, number } from '#/i18n/format';
import { entering, type Graph, leaving, portOf } from '../model/graph';
import type { StepFigures } from './canvas';
import { t } from './texts';

type Stats = Schemas['WorkflowStats'];

/** What stands beside each step. */
export function figuresOf(stats: Stats): ReadonlyMap<string, StepFigures> {
  const shown = stats.steps.map((step) => {
    const { entered, waiting, completed, skipped, failed, emails } = step;
    const parts = [t.entered(number(entered))];
    if (waiting > 0) parts.push(t.waiting(number(waiting)));
    if (completed > 0) parts.push(t.completed(number(completed)));
    if (skipped > 0) parts.push(t.skipped(number(skipped)));
    if (failed > 0) parts.push(t.failed(number(failed)));
    if (emails.sent > 0) parts.push(t.mails(number(emails.sent), number(emails.opened), number(emails.clicked)));
    const second = failed > 0 ? t.failed(compact(failed)) : waiting > 0 ? t.waiting(compact(waiting)) : undefined;
    return [step.stepId, { first: compact(entered), second, title: parts.join(', ') }] as const;
  });
  return new Map(shown);
}

/**
 * How many took each way, where the figures of steps tell it: a branch or an outcome is counted; the only way to a step was
 * taken by all who came to it, the only way from a step by all whom it let go on.
 */
export function countsOf(graph: Graph, stats: Stats): ReadonlyMap<string, string> {
  const steps = new Map(stats.steps.map((step) => [step.stepId, step]));
  const counts = new Map<string, string>();
  for (const way of graph.ways) {
    const [from, to] = [steps.get(way.from), steps.get(way.to)];
    const port = portOf(way);
    const taken = from?.branches[port.branch ?? port.outcome ?? ''];
    if (taken !== undefined) counts.set(way.id, compact(taken));
    else if (to && entering(graph, way.to).length === 1) counts.set(way.id, compact(to.entered));
    else if (from && leaving(graph, way.from).length === 1) counts.set(way.id, compact(from.completed + from.skipped));
  }
  return counts;
}
