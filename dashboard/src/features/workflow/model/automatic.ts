import dagre from '@dagrejs/dagre';
import { type Graph, leaving, openPorts, portOf, portsOf } from './graph';
import { END_SIZE, endId, type Layout, type Place, RANK_GAP, STEP_SIZE } from './layout';

/** How far steps are apart beside each other. */
const NODE_GAP = 28;

/** Whether no ways come together. */
function isTree(graph: Graph): boolean {
  return new Set(graph.ways.map((way) => way.to)).size === graph.ways.length;
}

/** Places from the top down, by the graph alone. Branches stand from left to right in the order in which they are tried. */
export function computed(graph: Graph): Layout {
  const tree = isTree(graph);
  const drawn = new dagre.graphlib.Graph({ multigraph: true });
  drawn.setGraph({ rankdir: 'TB', ranksep: RANK_GAP, nodesep: NODE_GAP, marginx: 0, marginy: 0 });
  for (const step of graph.steps) drawn.setNode(step.id, { ...STEP_SIZE });
  for (const step of graph.steps) {
    const open = openPorts(graph, step);
    for (const port of open) drawn.setNode(endId(step.id, port.key), { ...END_SIZE });
    const order = portsOf(step).map((port) => port.key);
    const ends = [
      ...leaving(graph, step.id).map((way) => ({ at: order.indexOf(portOf(way).key), to: way.to, name: way.id })),
      ...open.map((port) => ({ at: order.indexOf(port.key), to: endId(step.id, port.key), name: endId(step.id, port.key) })),
    ];
    // of orders with as few crossings dagre takes the last that it tries, mostly the mirrored one
    for (const end of ends.toSorted((a, b) => (tree ? a.at - b.at : b.at - a.at))) drawn.setEdge(step.id, end.to, {}, end.name);
  }
  // where no ways come together none need cross, and looking for fewer crossings takes more than half of the time
  dagre.layout(drawn, { disableOptimalOrderHeuristic: tree });
  const steps = new Map<string, Place>();
  const ends = new Map<string, Place>();
  for (const id of drawn.nodes()) {
    const node = drawn.node(id);
    // dagre places centres
    const place = { x: Math.round((node.x ?? 0) - node.width / 2), y: Math.round((node.y ?? 0) - node.height / 2) };
    (id.startsWith('end:') ? ends : steps).set(id, place);
  }
  const lanes = new Map<string, number>();
  for (const way of graph.ways) {
    const points = drawn.edge({ v: way.from, w: way.to, name: way.id })?.points ?? [];
    const middle = points[Math.floor(points.length / 2)];
    if (points.length > 3 && middle) lanes.set(way.id, Math.round(middle.x));
  }
  return { steps, ends, lanes };
}
