import type { Schemas } from '#/api/client';

/** What a step does. */
export type StepType = Schemas['StepType'];
/** How a step does what it does; its members depend on the type. */
export type Config = Readonly<Record<string, unknown>>;
/** What ended a wait for an event. */
export type Outcome = Schemas['WaitOutcome'];

/** A step, without what only the service needs. */
export interface Step {
  readonly id: string;
  readonly type: StepType;
  readonly name: string;
  readonly position: Schemas['Position'];
  readonly config: Config;
  readonly templateId: string | null;
}

/** A way from one step to another. */
export interface Way {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly branch: string | null;
  readonly outcome: Outcome | null;
  readonly priority: number;
}

/** Steps in the order in which they were made, the trigger first, and the ways between them. */
export interface Graph {
  readonly steps: readonly Step[];
  readonly ways: readonly Way[];
}

/** A way on that a step can have: plain, for one of its branches, or for one outcome of its wait. */
export interface Port {
  readonly key: string;
  readonly branch: string | null;
  readonly outcome: Outcome | null;
}

/** A member of a configuration that is an object; an empty one when it is none. */
export function asConfig(value: unknown): Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Config) : {};
}

/** A member of a configuration that is a text; empty when it is none. */
export function textAt(config: Config, name: string): string {
  const value = config[name];
  return typeof value === 'string' ? value : '';
}

/** A member of a configuration that is a number. */
export function numberAt(config: Config, name: string): number | undefined {
  const value = config[name];
  return typeof value === 'number' ? value : undefined;
}

/** A branch of a step, as its configuration has it. */
export interface Branch {
  readonly id: string;
  readonly name: string;
  readonly config: Config;
}

/** The branches in a configuration. */
export function branchesAt(config: Config): readonly Branch[] {
  const list: readonly unknown[] = Array.isArray(config.branches) ? config.branches : [];
  return list.map(asConfig).map((branch) => ({ id: textAt(branch, 'id'), name: textAt(branch, 'name'), config: branch }));
}

/** The graph of a workflow as the API tells it. */
export function graphOf(detail: Schemas['WorkflowDetail']): Graph {
  return {
    steps: detail.steps.map((step) => ({
      id: step.id,
      type: step.type,
      name: step.name,
      position: step.position,
      config: asConfig(step.config),
      templateId: step.templateId ?? null,
    })),
    ways: detail.transitions.map((way) => ({
      id: way.id,
      from: way.fromStepId,
      to: way.toStepId,
      branch: way.branch ?? null,
      outcome: way.waitOutcome ?? null,
      priority: way.priority,
    })),
  };
}

interface Index {
  byId: ReadonlyMap<string, Step>;
  leaving: ReadonlyMap<string, readonly Way[]>;
  entering: ReadonlyMap<string, readonly Way[]>;
}

const indexes = new WeakMap<Graph, Index>();

function group(ways: readonly Way[], key: (way: Way) => string): Map<string, Way[]> {
  const groups = new Map<string, Way[]>();
  for (const way of ways) {
    const list = groups.get(key(way));
    if (list) list.push(way);
    else groups.set(key(way), [way]);
  }
  return groups;
}

function indexOf(graph: Graph): Index {
  let index = indexes.get(graph);
  if (!index) {
    index = {
      byId: new Map(graph.steps.map((step) => [step.id, step])),
      leaving: group(graph.ways.toSorted((a, b) => a.priority - b.priority), (way) => way.from),
      entering: group(graph.ways, (way) => way.to),
    };
    indexes.set(graph, index);
  }
  return index;
}

/** A step by its id. */
export const stepAt = (graph: Graph, id: string): Step | undefined => indexOf(graph).byId.get(id);
/** The ways that leave a step, in the order in which they are tried. */
export const leaving = (graph: Graph, id: string): readonly Way[] => indexOf(graph).leaving.get(id) ?? [];
/** The ways that lead to a step. */
export const entering = (graph: Graph, id: string): readonly Way[] => indexOf(graph).entering.get(id) ?? [];
/** The step where executions begin. */
export const triggerOf = (graph: Graph): Step | undefined => graph.steps.find((step) => step.type === 'TRIGGER');

const plain: Port = { key: '', branch: null, outcome: null };
const branchPort = (id: string): Port => ({ key: `branch:${id}`, branch: id, outcome: null });
const outcomePort = (outcome: Outcome): Port => ({ key: `outcome:${outcome}`, branch: null, outcome });

/** Whether every way that leaves a step of this type carries a branch. */
export const hasBranches = (type: StepType): boolean => type === 'CONDITION' || type === 'RANDOM_SPLIT';

/** The form of a CONDITION. */
export function modeOf(config: Config): 'binary' | 'multi' | 'filter' {
  const mode = textAt(config, 'mode');
  if (mode === 'multi' || mode === 'filter' || mode === 'binary') return mode;
  return config.condition === undefined || config.condition === null ? 'binary' : 'filter';
}

/** Every way on that a step can have, in the order in which they are shown. */
export function portsOf(step: Step): readonly Port[] {
  switch (step.type) {
    case 'EXIT':
      return [];
    case 'RANDOM_SPLIT':
      return branchesAt(step.config).map((branch) => branchPort(branch.id));
    case 'CONDITION':
      return modeOf(step.config) === 'multi'
        ? [...branchesAt(step.config).map((branch) => branchPort(branch.id)), branchPort('default')]
        : [branchPort('yes'), branchPort('no')];
    case 'WAIT_FOR_EVENT':
      return numberAt(step.config, 'timeout') ? [outcomePort('EVENT'), outcomePort('TIMEOUT')] : [outcomePort('EVENT')];
    default:
      return [plain];
  }
}

/** The port that a way leaves its step by. */
export function portOf(way: Way): Port {
  if (way.branch !== null) return branchPort(way.branch);
  return way.outcome === null ? plain : outcomePort(way.outcome);
}

/** The ways on that a step can have and has not. A way for both outcomes of a wait leaves none open. */
export function openPorts(graph: Graph, step: Step): readonly Port[] {
  const taken = new Set(leaving(graph, step.id).map((way) => portOf(way).key));
  if (step.type === 'WAIT_FOR_EVENT' && taken.has(plain.key)) return [];
  return portsOf(step).filter((port) => !taken.has(port.key));
}

/** Whether a step has a way for something that it does not have any more, such as a branch that was removed. */
export function isStale(step: Step, way: Way): boolean {
  const port = portOf(way);
  if (step.type === 'WAIT_FOR_EVENT' && port.key === plain.key) return false;
  return !portsOf(step).some((known) => known.key === port.key);
}

/** A step and every step that can be reached from it. */
export function reachable(graph: Graph, from: string): ReadonlySet<string> {
  const found = new Set([from]);
  for (const id of found) for (const way of leaving(graph, id)) found.add(way.to);
  return found;
}

/** Whether a way between two steps would be allowed, as far as loops are concerned. */
export function mayLead(graph: Graph, from: string, to: string): boolean {
  const target = stepAt(graph, to);
  return from !== to && target !== undefined && target.type !== 'TRIGGER' && !reachable(graph, to).has(from);
}

/** Whether a step can be removed so that what led to it leads on. */
export function canSplice(graph: Graph, step: Step): boolean {
  return !hasBranches(step.type) && step.type !== 'TRIGGER' && leaving(graph, step.id).length > 0;
}
