import { useState } from 'react';
import { Skeleton } from '#/ui/skeleton';
import { type Graph, triggerOf } from '../model/graph';
import type { Names } from '../step/summary';
import Canvas from './Canvas';
import type { Overlay } from './elements';
import { useLayout } from './useLayout';

/** The steps of a workflow as a graph to look at, such as with the path of an execution. */
export default function GraphView({ graph, names, overlay, label, onOpen }: {
  graph: Graph;
  names: Names;
  overlay: Overlay;
  label: string;
  onOpen: (step: string) => void;
}) {
  const laidOut = useLayout(graph);
  const [active, setActive] = useState(triggerOf(graph)?.id ?? '');
  if (!laidOut) return <Skeleton rows={8} />;
  return (
    <Canvas
      className="h-112 overflow-hidden rounded-card border border-line bg-canvas"
      label={label}
      graph={laidOut.graph}
      layout={laidOut.layout}
      names={names}
      overlay={overlay}
      active={active}
      onActive={setActive}
      open=""
      onOpen={onOpen}
    />
  );
}
