import { Position } from '@xyflow/react';
import { useMemo, useState } from 'react';
import { type Graph, openPorts, portOf, stepAt } from '../model/graph';
import { END_SIZE, endId, type Layout, ownPart, STEP_SIZE } from '../model/layout';
import { type Names, portName, summaryOf } from '../step/summary';
import type { Mark, OnCanvas, StepFigures, WayOnCanvas } from './canvas';

/** What is shown on the canvas beside the graph. */
export interface Overlay {
  readonly figures?: ReadonlyMap<string, StepFigures> | undefined;
  readonly counts?: ReadonlyMap<string, string> | undefined;
  readonly marks?: ReadonlyMap<string, Mark> | undefined;
  /** The ways that are not dimmed; all of them when it is left out. */
  readonly taken?: ReadonlySet<string> | undefined;
}

/**
 * Sizes and the places of ways' ends are told before they are measured: a node without them would be drawn once more
 * whenever it changes, also out of sight.
 */
function sized({ width, height }: { width: number; height: number }) {
  const none = { x: width / 2, width: 0, height: 0 };
  const handles = [
    { ...none, type: 'target' as const, position: Position.Top, y: 0 },
    { ...none, type: 'source' as const, position: Position.Bottom, y: height },
  ];
  return { width, height, measured: { width, height }, handles };
}

/** Gives the object of before where nothing about it changed, so that it is not drawn again. */
function useKept<T extends { id: string }>(items: readonly T[]): T[] {
  const [known] = useState(() => new Map<string, { text: string; item: T }>());
  return useMemo(() => {
    const ids = new Set(items.map((item) => item.id));
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    return items.map((item) => {
      const text = JSON.stringify(item);
      const before = known.get(item.id);
      if (before?.text === text) return before.item;
      known.set(item.id, { text, item });
      return item;
    });
  }, [items, known]);
}

/** Steps and open ends as the canvas draws them. */
export function useNodes(graph: Graph, layout: Layout, names: Names, overlay: Overlay, active: string, open: string, readOnly: boolean): OnCanvas[] {
  const nodes = useMemo(
    () =>
      graph.steps.flatMap((step): OnCanvas[] => {
        const shown: OnCanvas[] = [
          {
            id: step.id,
            type: 'step',
            position: { ...(layout.steps.get(step.id) ?? { x: 0, y: 0 }) },
            ...sized(STEP_SIZE),
            data: {
              step,
              summary: summaryOf(step, names),
              figures: overlay.figures?.get(step.id),
              mark: overlay.marks?.get(step.id),
              isActive: step.id === active,
              isOpen: step.id === open,
            },
          },
        ];
        if (readOnly) return shown;
        for (const port of openPorts(graph, step)) {
          const id = endId(step.id, port.key);
          shown.push({
            id,
            type: 'end',
            draggable: false,
            position: { ...(layout.ends.get(id) ?? { x: 0, y: 0 }) },
            ...sized(END_SIZE),
            data: { step, port, name: portName(step, port) },
          });
        }
        return shown;
      }),
    [graph, layout, names, overlay, active, open, readOnly],
  );
  return useKept(nodes);
}

/** Ways, and the short ones to open ends, as the canvas draws them. */
export function useEdges(graph: Graph, layout: Layout, overlay: Overlay, readOnly: boolean): WayOnCanvas[] {
  const edges = useMemo(() => {
    const shown: WayOnCanvas[] = [];
    for (const way of graph.ways) {
      const [from, to] = [stepAt(graph, way.from), stepAt(graph, way.to)];
      if (!from || !to) continue;
      shown.push({
        id: way.id,
        type: 'way',
        source: way.from,
        target: way.to,
        data: {
          way,
          name: portName(from, portOf(way)),
          count: overlay.counts?.get(way.id),
          lane: layout.lanes.get(way.id),
          along: ownPart(graph, way),
          canInsert: !readOnly,
          isDim: overlay.taken ? !overlay.taken.has(way.id) : false,
          target: to.name,
        },
      });
    }
    return shown;
  }, [graph, layout, overlay, readOnly]);
  const ends = useMemo((): WayOnCanvas[] => {
    if (readOnly) return [];
    return graph.steps.flatMap((step) =>
      openPorts(graph, step).map((port) => {
        const target = endId(step.id, port.key);
        return { id: `to ${target}`, source: step.id, target, type: 'end' as const, data: {} };
      }),
    );
  }, [graph, readOnly]);
  const all = useMemo(() => [...edges, ...ends], [edges, ends]);
  return useKept(all);
}
