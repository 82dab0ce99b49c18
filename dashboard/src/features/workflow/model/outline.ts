import { entering, type Graph, leaving, openPorts, type Port, portOf, portsOf, type Step, stepAt, triggerOf, type Way } from './graph';

/** A line of the list of steps. */
export type Line =
  | {
      readonly kind: 'step';
      readonly step: Step;
      readonly depth: number;
      /** The way that leads here; undefined for a step that nothing leads to. */
      readonly way: Way | undefined;
    }
  /** Where a branch goes on at a step that stands in the list already. */
  | { readonly kind: 'joins'; readonly step: Step; readonly depth: number; readonly way: Way }
  /** Where a step has a way on that leads nowhere. */
  | { readonly kind: 'end'; readonly step: Step; readonly depth: number; readonly port: Port };

/** The steps as a list, each once: below a step stands what it leads to, and branches are indented. */
export function outlineOf(graph: Graph): readonly Line[] {
  const lines: Line[] = [];
  const seen = new Set<string>();
  const visit = (step: Step, depth: number, way: Way | undefined) => {
    if (seen.has(step.id)) {
      if (way) lines.push({ kind: 'joins', step, depth, way });
      return;
    }
    seen.add(step.id);
    lines.push({ kind: 'step', step, depth, way });
    const order = portsOf(step).map((port) => port.key);
    const ends = [
      ...leaving(graph, step.id).map((next) => ({ at: order.indexOf(portOf(next).key), next, port: undefined })),
      ...openPorts(graph, step).map((port) => ({ at: order.indexOf(port.key), next: undefined, port })),
    ].toSorted((a, b) => a.at - b.at);
    const below = ends.length > 1 ? depth + 1 : depth;
    for (const { next, port } of ends) {
      if (port) lines.push({ kind: 'end', step, depth: below, port });
      const target = next && stepAt(graph, next.to);
      if (target) visit(target, below, next);
    }
  };
  const first = triggerOf(graph);
  if (first) visit(first, 0, undefined);
  for (const step of graph.steps) {
    if (!seen.has(step.id) && entering(graph, step.id).length === 0) visit(step, 0, undefined);
  }
  return lines;
}
