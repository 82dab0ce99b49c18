import '@xyflow/react/dist/base.css';
import './canvas.css';
import { applyNodeChanges, type NodeChange, ReactFlow, ReactFlowProvider, useReactFlow, useStoreApi } from '@xyflow/react';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { entering, type Graph, leaving, triggerOf } from '../model/graph';
import { beside, followers, type Layout, type Place, STEP_SIZE } from '../model/layout';
import type { Names } from '../step/summary';
import { type Actions, ActionsContext, FarContext, type OnCanvas, type Spot, type WayOnCanvas } from './canvas';
import { Drag } from './drag';
import { EndEdge } from './EndEdge';
import { EndNode } from './EndNode';
import { type Overlay, useEdges, useNodes } from './elements';
import { FarWays, farView } from './FarWays';
import { StepNode } from './StepNode';
import { WayEdge } from './WayEdge';
import { t } from './texts';
import { useFar } from './useFar';
import { ZoomButtons } from './ZoomButtons';

const NODE_TYPES = { step: StepNode, end: EndNode };
const EDGE_TYPES = { way: WayEdge, end: EndEdge };
/** A wide graph has to fit as well. */
const MIN_ZOOM = 0.05;
const FIT = { padding: 0.15, maxZoom: 1, minZoom: MIN_ZOOM };
/** The size at which steps can still be read, and the one for graphs that are only looked at. */
const READABLE = 0.85;
const OVERVIEW = 0.6;
/** How near the edge a step may be before the canvas moves to it, in pixels. */
const MARGIN = 24;
const NO_WAYS: WayOnCanvas[] = [];

export interface CanvasProps {
  graph: Graph;
  layout: Layout;
  names: Names;
  overlay: Overlay;
  /** The step that has the keyboard. */
  active: string;
  onActive: (step: string) => void;
  /** The step whose panel is open; empty when none is. */
  open: string;
  onOpen: (step: string) => void;
  /** What can be changed; nothing when it is left out. */
  edit?: {
    addAt: (spots: readonly Spot[]) => void;
    addAfter: (step: string) => void;
    remove: (step: string) => void;
    move: (places: readonly { id: string; position: Place }[]) => void;
  };
  /** Changes when the active step should get the focus. */
  focus?: number;
  className?: string;
  label: string;
}

/** The steps of a workflow as a graph. */
export default function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function Inner({ graph, layout, names, overlay, active, onActive, open, onOpen, edit, focus = 0, className, label }: CanvasProps) {
  const readOnly = !edit;
  const flow = useReactFlow();
  const store = useStoreApi();
  const built = useNodes(graph, layout, names, overlay, active, open, readOnly);
  const edges = useEdges(graph, layout, overlay, readOnly);
  const [nodes, setNodes] = useState<OnCanvas[]>(built);
  const canvas = useRef<HTMLDivElement>(null);
  const [drag] = useState(() => new Drag());
  const dragged = useRef<{ id: string; from: Place }>(undefined);
  const isFar = useFar(dragged, edges);
  const wantsFocus = useRef('');
  useEffect(() => {
    if (!dragged.current) setNodes(built);
  }, [built]);

  const latest = useRef({ onActive, onOpen, edit, built });
  useEffect(() => {
    latest.current = { onActive, onOpen, edit, built };
  });
  const actions = useMemo<Actions>(
    () => ({
      open: (step) => latest.current.onOpen(step),
      activate: (step) => latest.current.onActive(step),
      addAt: (spots) => latest.current.edit?.addAt(spots),
      drag,
      takesFocus: (step) => {
        if (wantsFocus.current !== step) return false;
        wantsFocus.current = '';
        return true;
      },
    }),
    [drag],
  );

  /** Moves the canvas as far as it takes to see a step. */
  const reveal = useCallback(
    (id: string) => {
      const place = layout.steps.get(id);
      if (!place) return;
      const { width, height, transform } = store.getState();
      const [x, y, zoom] = transform;
      const left = place.x * zoom + x;
      const top = place.y * zoom + y;
      const [right, bottom] = [left + STEP_SIZE.width * zoom, top + STEP_SIZE.height * zoom];
      const dx = left < MARGIN ? MARGIN - left : right > width - MARGIN ? width - MARGIN - right : 0;
      const dy = top < MARGIN ? MARGIN - top : bottom > height - MARGIN ? height - MARGIN - bottom : 0;
      if (dx !== 0 || dy !== 0) void flow.setViewport({ x: x + dx, y: y + dy, zoom });
    },
    [layout, flow, store],
  );
  const walk = (to: string | undefined) => {
    if (!to) return;
    reveal(to);
    wantsFocus.current = to;
    onActive(to);
  };
  const focused = useRef(0);
  useEffect(() => {
    // a new step is not laid out at once
    if (focus === focused.current || !layout.steps.has(active)) return;
    focused.current = focus;
    reveal(active);
    wantsFocus.current = active;
    // the step may be drawn already, and then has to be asked
    document.querySelector<HTMLElement>(`[data-step="${active}"]`)?.focus({ preventScroll: true });
  }, [focus, active, layout, reveal]);

  /** Shows all of a small graph, and the beginning of a large one at a size that can be read. */
  const begin = () => {
    const { width, height } = store.getState();
    const places = [...layout.steps.values()];
    const bottom = Math.max(...places.map((place) => place.y)) + STEP_SIZE.height * 2;
    const top = Math.min(...places.map((place) => place.y));
    const left = Math.min(...places.map((place) => place.x));
    const right = Math.max(...places.map((place) => place.x)) + STEP_SIZE.width;
    const zoom = Math.min(1, (width - 2 * MARGIN) / (right - left), (height - 2 * MARGIN) / (bottom - top));
    const least = readOnly ? OVERVIEW : READABLE;
    if (zoom >= least) {
      void flow.setViewport({ x: (width - (left + right) * zoom) / 2, y: MARGIN - top * zoom, zoom });
      return;
    }
    const first = layout.steps.get(triggerOf(graph)?.id ?? '') ?? { x: left, y: top };
    void flow.setViewport({ x: width / 2 - (first.x + STEP_SIZE.width / 2) * least, y: MARGIN - first.y * least, zoom: least });
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
    const keys: Record<string, () => void> = {
      ArrowDown: () => walk(leaving(graph, active).toSorted((a, b) => leftOf(layout, a.to) - leftOf(layout, b.to))[0]?.to),
      ArrowUp: () => walk(entering(graph, active)[0]?.from),
      ArrowLeft: () => walk(beside(layout, active, false)),
      ArrowRight: () => walk(beside(layout, active, true)),
      Home: () => walk(triggerOf(graph)?.id),
      '+': () => void flow.zoomIn(),
      '-': () => void flow.zoomOut(),
      '0': () => void flow.fitView(FIT),
    };
    if (edit) {
      keys.a = () => edit.addAfter(active);
      keys.Delete = () => edit.remove(active);
      keys.Backspace = keys.Delete;
    }
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  const onNodesChange = useCallback(
    (changes: NodeChange<OnCanvas>[]) => {
      const lead = dragged.current;
      const others = changes.filter((change) => {
        if (change.type !== 'position') return true;
        if (lead?.id === change.id && change.position) drag.move({ x: change.position.x - lead.from.x, y: change.position.y - lead.from.y });
        return false;
      });
      if (others.length > 0) setNodes((before) => applyNodeChanges(others, before));
    },
    [drag],
  );
  const onDragStart = (_: unknown, node: OnCanvas) => {
    const along = followers(graph, node.id);
    const moving = new Set(nodes.filter((other) => along.has(other.data.step.id)).map((other) => other.id));
    dragged.current = { id: node.id, from: { ...node.position } };
    drag.begin(canvas.current, moving, isFar ? farView(edges, nodes, flow.getZoom()) : undefined);
    // what is being dragged has to be drawn wherever it is
    setNodes(nodes.map((other) => (other.id === node.id ? Object.assign({}, other, { dragging: true }) : other)));
  };
  const onDragStop = (_: unknown, node: OnCanvas) => {
    const from = dragged.current?.from;
    dragged.current = undefined;
    const position = { x: Math.round(node.position.x), y: Math.round(node.position.y) };
    // the corner of the canvas means that the step was never moved
    if (position.x === 0 && position.y === 0) position.y = 1;
    if (!from || !edit || (Math.abs(from.x - position.x) < 1 && Math.abs(from.y - position.y) < 1)) {
      drag.end();
      setNodes(latest.current.built);
      return;
    }
    // what the browser draws stays where it was dropped until the steps are there
    const stop = store.subscribe(({ nodeLookup }) => {
      const at = nodeLookup.get(node.id)?.position;
      if (at?.x !== position.x || at.y !== position.y) return;
      stop();
      drag.end();
    });
    edit.move([{ id: node.id, position }]);
  };

  return (
    <ActionsContext value={actions}>
      <FarContext value={isFar}>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the steps within have the focus */}
        <div ref={canvas} role="group" aria-label={label} className={className} onKeyDown={onKey}>
          <ReactFlow<OnCanvas>
            nodes={nodes}
            edges={isFar ? NO_WAYS : edges}
            nodeTypes={NODE_TYPES}
            edgeTypes={EDGE_TYPES}
            onNodesChange={onNodesChange}
            onNodeDragStart={onDragStart}
            onNodeDragStop={onDragStop}
            nodesDraggable={!readOnly}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            onlyRenderVisibleElements={!isFar}
            disableKeyboardA11y
            nodeDragThreshold={4}
            minZoom={MIN_ZOOM}
            onInit={begin}
            zoomOnDoubleClick={false}
            panOnScroll
            deleteKeyCode={null}
            selectionKeyCode={null}
            multiSelectionKeyCode={null}
          >
            {isFar && <FarWays edges={edges} nodes={nodes} />}
            <ZoomButtons fit={FIT} label={t.zoom} />
          </ReactFlow>
        </div>
      </FarContext>
    </ActionsContext>
  );
}

const leftOf = (layout: Layout, id: string): number => layout.steps.get(id)?.x ?? 0;
