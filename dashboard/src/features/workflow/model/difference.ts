import type { Graph, Step, Way } from './graph';

/** One change of a graph, as the API makes it. */
export type Operation =
  | { readonly does: 'removeWay'; readonly id: string }
  | { readonly does: 'removeStep'; readonly id: string }
  | { readonly does: 'addStep'; readonly step: Step }
  | { readonly does: 'changeStep'; readonly id: string; readonly change: StepChange }
  | { readonly does: 'addWay'; readonly way: Way };

/** What changes of a step. Its type stays. */
export type StepChange = Partial<Pick<Step, 'name' | 'position' | 'config' | 'templateId'>>;

/** New ids by the old ones: what is made again after it was removed has another id. */
export type Aliases = ReadonlyMap<string, string>;

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

function changeOf(from: Step, to: Step): StepChange {
  return {
    ...(from.name === to.name ? {} : { name: to.name }),
    ...(same(from.position, to.position) ? {} : { position: to.position }),
    ...(same(from.config, to.config) ? {} : { config: to.config }),
    ...(from.templateId === to.templateId ? {} : { templateId: to.templateId }),
  };
}

const route = (way: Way): string => JSON.stringify([way.from, way.to, way.branch, way.outcome, way.priority]);

/**
 * The operations that make one graph of another. Ways are removed before their steps, so that removing a step never takes
 * others along, and added last, when the branches that they carry are there. No state in between has a loop.
 */
export function difference(from: Graph, to: Graph): readonly Operation[] {
  const before = new Map(from.steps.map((step) => [step.id, step]));
  const after = new Set(to.steps.map((step) => step.id));
  const kept = new Map(to.ways.map((way) => [way.id, route(way)]));
  const present = new Map(from.ways.map((way) => [way.id, route(way)]));
  const operations: Operation[] = [];
  for (const way of from.ways) {
    if (kept.get(way.id) !== route(way)) operations.push({ does: 'removeWay', id: way.id });
  }
  for (const step of from.steps) if (!after.has(step.id)) operations.push({ does: 'removeStep', id: step.id });
  for (const step of to.steps) {
    const known = before.get(step.id);
    if (!known) {
      operations.push({ does: 'addStep', step });
      continue;
    }
    const change = changeOf(known, step);
    if (Object.keys(change).length > 0) operations.push({ does: 'changeStep', id: step.id, change });
  }
  for (const way of to.ways) if (present.get(way.id) !== route(way)) operations.push({ does: 'addWay', way });
  return operations;
}

/** A graph after some operations, as the service would have it; new things keep the ids that they are given here. */
export function applied(graph: Graph, operations: readonly Operation[]): Graph {
  let { steps, ways } = graph;
  for (const operation of operations) {
    switch (operation.does) {
      case 'removeWay':
        ways = ways.filter((way) => way.id !== operation.id);
        break;
      case 'removeStep':
        steps = steps.filter((step) => step.id !== operation.id);
        ways = ways.filter((way) => way.from !== operation.id && way.to !== operation.id);
        break;
      case 'addStep':
        steps = [...steps, operation.step];
        break;
      case 'changeStep':
        steps = steps.map((step) => (step.id === operation.id ? { ...step, ...operation.change } : step));
        break;
      case 'addWay':
        ways = [...ways, operation.way];
        break;
    }
  }
  return { steps, ways };
}

/** A graph with other ids. */
export function renamed(graph: Graph, aliases: Aliases): Graph {
  if (aliases.size === 0) return graph;
  const id = (old: string) => aliases.get(old) ?? old;
  return {
    steps: graph.steps.map((step) => (aliases.has(step.id) ? { ...step, id: id(step.id) } : step)),
    ways: graph.ways.map((way) => ({ ...way, id: id(way.id), from: id(way.from), to: id(way.to) })),
  };
}
