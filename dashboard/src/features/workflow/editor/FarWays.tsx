import { useStore, ViewportPortal } from '@xyflow/react';
import { useMemo, useSyncExternalStore } from 'react';
import { roundedPath } from '../model/layout';
import { DIM, type OnCanvas, RADIUS, useActions, type WayOnCanvas } from './canvas';
import { type Drag, type FarView, type Pull, routeBetween } from './drag';

type Places = ReadonlyMap<string, OnCanvas>;

const placesOf = (nodes: readonly OnCanvas[]): Places => new Map(nodes.map((node) => [node.id, node]));

/** The line of a way, as the canvas draws it from near; with the pull on its ends while they are dragged. */
function lineOf({ source, target, data }: WayOnCanvas, places: Places, pull?: Pull): string {
  const [from, to] = [places.get(source), places.get(target)];
  if (!from || !to) return '';
  const begin = { x: from.position.x + (from.width ?? 0) / 2, y: from.position.y + (from.height ?? 0) };
  const end = { x: to.position.x + (to.width ?? 0) / 2, y: to.position.y };
  return roundedPath(routeBetween(begin, end, pull, data?.lane), RADIUS);
}

/** How wide lines are drawn on a canvas of a size, so that they are seen at every size. */
const strokeAt = (zoom: number): number => Math.max(1.5, 1 / zoom);

/** What is seen of ways from afar, for them to be dragged. */
export function farView(edges: readonly WayOnCanvas[], nodes: readonly OnCanvas[], zoom: number): FarView {
  const places = placesOf(nodes);
  return { stroke: strokeAt(zoom), ways: edges.map((edge) => ({ from: edge.source, to: edge.target, line: lineOf(edge, places) })) };
}

/**
 * The ways of a graph that is seen from afar, in one drawing. Each as an element of its own that follows its ends would take
 * hundreds of them longer than a frame to be where their steps are.
 */
export function FarWays({ edges, nodes }: { edges: readonly WayOnCanvas[]; nodes: readonly OnCanvas[] }) {
  const { drag } = useActions();
  const moving = useSyncExternalStore(drag.subscribe, () => drag.moving);
  const stroke = useStore((state) => strokeAt(state.transform[2]));
  const places = useMemo(() => placesOf(nodes), [nodes]);
  const { pulled, lines } = useMemo(() => {
    const isPulled = ({ source, target }: WayOnCanvas) => moving.has(source) !== moving.has(target);
    const still = edges.filter((edge) => !isPulled(edge));
    const linesOf = (some: readonly WayOnCanvas[]) => some.map((edge) => lineOf(edge, places)).join('');
    const ways = still.filter((edge) => edge.type === 'way');
    return {
      pulled: edges.filter(isPulled),
      lines: {
        ends: linesOf(still.filter((edge) => edge.type === 'end')),
        dim: linesOf(ways.filter((way) => way.data?.isDim)),
        plain: linesOf(ways.filter((way) => !way.data?.isDim)),
      },
    };
  }, [edges, places, moving]);
  return (
    <ViewportPortal>
      <svg aria-hidden="true" className="far-ways" strokeWidth={stroke}>
        <path d={lines.plain} />
        <path d={lines.dim} opacity={DIM} />
        <path d={lines.ends} strokeDasharray={`${stroke * 3}`} />
        {pulled.length > 0 && <PulledWays ways={pulled} places={places} drag={drag} />}
      </svg>
    </ViewportPortal>
  );
}

/** The ways of which one end is dragged. They are few. */
function PulledWays({ ways, places, drag }: { ways: readonly WayOnCanvas[]; places: Places; drag: Drag }) {
  // the pulls are new ones with each move
  useSyncExternalStore(drag.subscribe, () => ways[0] && drag.pullOn(ways[0].source, ways[0].target));
  return <path d={ways.map((way) => lineOf(way, places, drag.pullOn(way.source, way.target))).join('')} />;
}
