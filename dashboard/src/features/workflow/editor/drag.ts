import { type Place, routeOf } from '../model/layout';

const SVG = 'http://www.w3.org/2000/svg';

const NOWHERE: Place = { x: 0, y: 0 };

/** How far the ends of a way were moved away from each other. */
export interface Pull {
  readonly from: Place;
  readonly to: Place;
}

/** A way between two steps, and its line on the canvas. */
export interface DrawnWay {
  readonly from: string;
  readonly to: string;
  readonly line: string;
}

/** The ways of a graph that is seen from afar, and how wide their lines are. */
export interface FarView {
  readonly ways: readonly DrawnWay[];
  readonly stroke: number;
}

const NOTHING: ReadonlySet<string> = new Set();

/** The pull on a way whose ends are where they were, or move together. */
const RELAXED: Pull = { from: NOWHERE, to: NOWHERE };

/** Where a way runs between two places, with the pull on its ends. Its lane is free only where none is. */
export function routeBetween(from: Place, to: Place, pull: Pull | undefined, lane: number | undefined): readonly Place[] {
  if (!pull || pull === RELAXED) return routeOf(from, to, lane);
  const pulled = (place: Place, by: Place): Place => ({ x: place.x + by.x, y: place.y + by.y });
  return routeOf(pulled(from, pull.from), pulled(to, pull.to), undefined);
}

/**
 * Steps that are being dragged, with those that move along. To place hundreds of them anew with each move of the mouse
 * takes longer than a frame. So a picture of them is moved, as one piece, until they are dropped. It is made of copies, or
 * of outlines where the graph is so small that no more is seen.
 */
export class Drag {
  #moving = NOTHING;
  #offset = NOWHERE;
  /** The pull on ways that are dragged by their beginning, and by their end. */
  #pulls = { from: RELAXED, to: RELAXED };
  #canvas: HTMLElement | undefined;
  #picture: HTMLElement | undefined;
  #isFar = false;
  #frame = 0;
  readonly #listeners = new Set<() => void>();

  /** The ids of what is being dragged. */
  get moving(): ReadonlySet<string> {
    return this.#moving;
  }

  /** Begins to drag what stands on a canvas, by its ids. Of what is seen from `afar` only outlines are moved, with its ways. */
  begin(canvas: HTMLElement | null, moving: ReadonlySet<string>, afar: FarView | undefined): void {
    this.end();
    const viewport = canvas?.querySelector('.react-flow__viewport');
    if (!canvas || !viewport) return;
    this.#canvas = canvas;
    this.#moving = moving;
    this.#picture = document.createElement('div');
    this.#picture.className = 'drag-picture';
    this.#picture.inert = true;
    viewport.append(this.#picture);
    this.#isFar = afar !== undefined;
    if (!afar) return;
    canvas.dataset.dragged = '';
    const ways = afar.ways.filter((way) => moving.has(way.from) && moving.has(way.to));
    this.#picture.append(outlinesOf(this.#found(), { ...afar, ways }));
    this.#tell();
  }

  /** Moves everything dragged to an offset from where it began. */
  move(offset: Place): void {
    this.#offset = offset;
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  /** Nothing is dragged any more. */
  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#offset = NOWHERE;
    this.#pulls = { from: RELAXED, to: RELAXED };
    this.#moving = NOTHING;
    this.#picture?.remove();
    this.#picture = undefined;
    this.#canvas?.removeAttribute('data-dragged');
    for (const element of this.#canvas?.querySelectorAll('[data-dragged]') ?? []) element.removeAttribute('data-dragged');
    this.#canvas = undefined;
    this.#tell();
  }

  /** How far the ends of a way are away from where they began, when one of them moves without the other. */
  pullOn(from: string, to: string): Pull {
    const [movesFrom, movesTo] = [this.#moving.has(from), this.#moving.has(to)];
    if (movesFrom === movesTo) return RELAXED;
    return movesFrom ? this.#pulls.from : this.#pulls.to;
  }

  /** Tells when something was moved. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #draw(): void {
    this.#frame = 0;
    if (!this.#isFar) this.#copy();
    const offset = this.#offset;
    if (this.#picture) this.#picture.style.transform = `translate(${offset.x}px, ${offset.y}px)`;
    this.#pulls = { from: { from: offset, to: NOWHERE }, to: { from: NOWHERE, to: offset } };
    this.#tell();
  }

  /** Adds copies of what is not in the picture yet: all at first, later what comes into sight. */
  #copy(): void {
    for (const element of this.#found()) {
      if (element.dataset.dragged !== undefined) continue;
      this.#picture?.append(copyOf(element.closest('svg') ?? element));
      element.dataset.dragged = '';
    }
  }

  /** The steps, ends, ways and their names on the canvas that move. */
  #found(): HTMLElement[] {
    const all = this.#canvas?.querySelectorAll<HTMLElement>('.react-flow__node, [data-from]') ?? [];
    return [...all].filter(({ dataset: { id, from, to } }) =>
      id === undefined ? this.#moving.has(from ?? '') && this.#moving.has(to ?? '') : this.#moving.has(id),
    );
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Where the canvas has put a step or an open end. */
function placeOf(node: HTMLElement): Place {
  const { e, f } = new DOMMatrixReadOnly(node.style.transform);
  return { x: e, y: f };
}

/** A copy that only shows: nothing finds it for what it shows. */
function copyOf(element: Element): Element {
  const copy = element.cloneNode(true) as Element;
  const [shown, copied] = [partsOf(element), partsOf(copy)];
  copied.forEach((one, index) => {
    for (const name of Object.keys(one.dataset)) delete one.dataset[name];
    // a policy for content may take styles away from copies
    if (shown[index]?.style.length) one.style.cssText = shown[index].style.cssText;
  });
  return copy;
}

const partsOf = (element: Element): (HTMLElement | SVGElement)[] => [element, ...element.querySelectorAll('*')] as (HTMLElement | SVGElement)[];

/** One drawing of the outlines of steps and ends, and of the ways between them. */
function outlinesOf(nodes: readonly HTMLElement[], { ways, stroke }: FarView): SVGElement {
  const drawing = document.createElementNS(SVG, 'svg');
  drawing.setAttribute('stroke-width', `${stroke}`);
  const add = (name: string, line: string) => {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('class', name);
    path.setAttribute('d', line);
    drawing.append(path);
  };
  const boxes = nodes.map((node) => {
    const { x, y } = placeOf(node);
    return `M${x},${y}h${node.offsetWidth}v${node.offsetHeight}h${-node.offsetWidth}z`;
  });
  add('drag-ways', ways.map((way) => way.line).join(''));
  add('drag-nodes', boxes.join(''));
  return drawing;
}
