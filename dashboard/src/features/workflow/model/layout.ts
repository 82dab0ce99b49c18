import { entering, type Graph, leaving, openPorts, portOf, type Step, stepAt, triggerOf, type Way } from './graph';

/** A place on the canvas. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

/** The size of a step on the canvas. */
export const STEP_SIZE = { width: 256, height: 56 };
/** The size of an open end on the canvas. */
export const END_SIZE = { width: 128, height: 28 };

/** How far steps are apart below each other, with room for the name of a branch. */
export const RANK_GAP = 60;

/** The id of an open end on the canvas. */
export const endId = (step: string, port: string): string => `end:${step}:${port}`;

/** Where everything is. */
export interface Layout {
  readonly steps: ReadonlyMap<string, Place>;
  readonly ends: ReadonlyMap<string, Place>;
  /** How far from the left ways run that pass by other steps. */
  readonly lanes: ReadonlyMap<string, number>;
}

/** A step that was never moved has this place; the layout finds one for it. */
export const AUTOMATIC: Place = { x: 0, y: 0 };

/** Whether somebody has put a step where it is. */
export const isPinned = (step: Step): boolean => step.position.x !== 0 || step.position.y !== 0;

/** What the computed places depend on: which steps and open ends there are, and how they are linked. */
export function structureOf(graph: Graph): string {
  const ends = graph.steps.flatMap((step) => openPorts(graph, step).map((port) => `${step.id} ${port.key}`));
  return JSON.stringify([graph.steps.map((step) => step.id), graph.ways.map((way) => [way.from, way.to, portOf(way).key]), ends]);
}

/**
 * Places with those that somebody chose. What follows a step that was moved moves with it, unless it was moved itself, so
 * that a new step never has to be put in place.
 */
export function placed(graph: Graph, automatic: Layout): Layout {
  const shifts = new Map<string, Place>();
  const first = triggerOf(graph);
  const shiftOf = (step: Step): Place => {
    const known = shifts.get(step.id);
    if (known) return known;
    const at = automatic.steps.get(step.id) ?? AUTOMATIC;
    const from = entering(graph, step.id)[0]?.from;
    const parent = (from ? stepAt(graph, from) : undefined) ?? (step.id === first?.id ? undefined : first);
    let shift = AUTOMATIC;
    if (isPinned(step)) shift = { x: step.position.x - at.x, y: step.position.y - at.y };
    else if (parent) shift = shiftOf(parent);
    shifts.set(step.id, shift);
    return shift;
  };
  const moved = (place: Place | undefined, shift: Place): Place => ({
    x: (place?.x ?? 0) + shift.x,
    y: (place?.y ?? 0) + shift.y,
  });
  const steps = new Map<string, Place>();
  const ends = new Map<string, Place>();
  for (const step of graph.steps) {
    const shift = shiftOf(step);
    steps.set(step.id, moved(automatic.steps.get(step.id), shift));
    for (const port of openPorts(graph, step)) {
      const id = endId(step.id, port.key);
      ends.set(id, moved(automatic.ends.get(id), shift));
    }
  }
  const lanes = new Map<string, number>();
  for (const way of graph.ways) {
    const lane = automatic.lanes.get(way.id);
    const [from, to] = [shifts.get(way.from), shifts.get(way.to)];
    // the lane is free only while both steps stand where the layout put them
    if (lane !== undefined && from && to && from.x === to.x && from.y === to.y) lanes.set(way.id, lane + from.x);
  }
  return { steps, ends, lanes };
}

/** Whether steps lie on each other. */
export function overlaps(layout: Layout): boolean {
  const places = [...layout.steps.values()].toSorted((a, b) => a.y - b.y);
  return places.some((place, index) => {
    for (let next = index + 1; next < places.length; next++) {
      const other = places[next];
      if (!other || other.y >= place.y + STEP_SIZE.height) return false;
      if (Math.abs(other.x - place.x) < STEP_SIZE.width) return true;
    }
    return false;
  });
}

/** The step nearest to another one in a direction that has no way to follow: to the left or to the right. */
export function beside(layout: Layout, id: string, toTheRight: boolean): string | undefined {
  const from = layout.steps.get(id);
  if (!from) return undefined;
  let best: { id: string; distance: number } | undefined;
  for (const [other, place] of layout.steps) {
    const dx = toTheRight ? place.x - from.x : from.x - place.x;
    const dy = Math.abs(place.y - from.y);
    if (other === id || dx <= 0 || dy > STEP_SIZE.height) continue;
    const distance = dx + dy * 2;
    if (!best || distance < best.distance) best = { id: other, distance };
  }
  return best?.id;
}

/** The steps that move along with one: those behind it whose place depends on its. */
export function followers(graph: Graph, id: string): ReadonlySet<string> {
  const found = new Set([id]);
  for (const one of found) {
    for (const way of leaving(graph, one)) {
      const step = stepAt(graph, way.to);
      if (step && !isPinned(step) && entering(graph, way.to)[0]?.from === one) found.add(way.to);
    }
  }
  return found;
}

/** A path along corners, which are rounded. */
export function roundedPath(points: readonly Place[], radius: number): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x},${first.y}`;
  rest.forEach((corner, index) => {
    const before = points[index] ?? corner;
    const after = rest[index + 1];
    if (!after) {
      path += `L${corner.x},${corner.y}`;
      return;
    }
    const room = (a: Place, b: Place) => Math.min(radius, (Math.abs(a.x - b.x) + Math.abs(a.y - b.y)) / 2);
    const bend = Math.min(room(before, corner), room(corner, after));
    const toward = (to: Place): Place => ({ x: corner.x + Math.sign(to.x - corner.x) * bend, y: corner.y + Math.sign(to.y - corner.y) * bend });
    const [enter, leave] = [toward(before), toward(after)];
    path += `L${enter.x},${enter.y}Q${corner.x},${corner.y} ${leave.x},${leave.y}`;
  });
  return path;
}

/** Where a way runs: straight down, or around what stands between its steps. Every part is upright or level. */
export function routeOf(from: Place, to: Place, lane: number | undefined): readonly Place[] {
  const gap = RANK_GAP / 2;
  if (lane === undefined || to.y - from.y < RANK_GAP * 2) {
    const middle = Math.round(to.y > from.y ? Math.max(from.y + gap / 2, to.y - gap) : (from.y + to.y) / 2);
    return from.x === to.x ? [from, to] : [from, { x: from.x, y: middle }, { x: to.x, y: middle }, to];
  }
  const [above, below] = [from.y + gap, to.y - gap];
  const corners = [from, { x: from.x, y: above }, { x: lane, y: above }, { x: lane, y: below }, { x: to.x, y: below }, to];
  return corners.filter((corner, index) => index === 0 || corner.x !== corners[index - 1]?.x || corner.y !== corners[index - 1]?.y);
}

/** Where along a way its name stands, so that names of other ways do not lie on it. */
export type Along = 'start' | 'middle' | 'end';

/** The part of a way that no other way runs along: its end, unless others end there as well, or else its beginning. */
export function ownPart(graph: Graph, way: Way): Along {
  if (entering(graph, way.to).length === 1) return 'end';
  return leaving(graph, way.from).length + openPorts(graph, stepAt(graph, way.from) ?? NOWHERE).length === 1 ? 'start' : 'middle';
}

/** Where the name of a way and its button stand. */
export function middleOf(route: readonly Place[], along: Along, lane: number | undefined): Place {
  const last = route.at(-1) ?? AUTOMATIC;
  const first = route[0] ?? AUTOMATIC;
  if (lane !== undefined) return { x: lane, y: Math.round((first.y + last.y) / 2) };
  const half = RANK_GAP / 2;
  if (along === 'end') return { x: last.x, y: last.y - half };
  // one way to a step goes straight down, the others come from the side
  if (along === 'start') return { x: first.x, y: first.x === last.x ? last.y - half : first.y + half / 2 };
  return { x: Math.round((first.x + last.x) / 2), y: last.y - half };
}

const NOWHERE: Step = { id: '', type: 'EXIT', name: '', position: AUTOMATIC, config: {}, templateId: null };
