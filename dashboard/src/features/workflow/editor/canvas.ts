import type { Edge, Node } from '@xyflow/react';
import { createContext, useContext } from 'react';
import type { Port, Step, Way } from '../model/graph';
import type { Along } from '../model/layout';
import type { Drag } from './drag';

/** Figures beside a step, and what they mean. */
export interface StepFigures {
  readonly first: string;
  readonly second?: string | undefined;
  readonly title: string;
}

/** How a step stands out. */
export type Mark = 'fails' | 'note' | 'done' | 'waiting' | 'failed' | 'skipped' | 'unseen';

/** What a step on the canvas shows. */
export type StepData = {
  readonly step: Step;
  readonly summary: string;
  readonly figures: StepFigures | undefined;
  readonly mark: Mark | undefined;
  readonly isActive: boolean;
  readonly isOpen: boolean;
};
/** What an open end on the canvas shows. */
export type EndData = { readonly step: Step; readonly port: Port; readonly name: string };
/** What a way on the canvas shows. */
export type WayData = {
  readonly way: Way;
  readonly name: string;
  readonly count: string | undefined;
  readonly lane: number | undefined;
  readonly along: Along;
  readonly canInsert: boolean;
  readonly isDim: boolean;
  /** The name of the step that it leads to. */
  readonly target: string;
};

/** A step on the canvas. */
export type StepOnCanvas = Node<StepData, 'step'>;
/** An open end on the canvas. */
export type EndOnCanvas = Node<EndData, 'end'>;
/** What stands on the canvas. */
export type OnCanvas = StepOnCanvas | EndOnCanvas;
/** A way between steps on the canvas. */
export type WayBetween = Edge<WayData, 'way'>;
/** A way to an open end on the canvas. */
export type WayToEnd = Edge<Record<string, never>, 'end'>;
/** What connects what stands on the canvas. */
export type WayOnCanvas = WayBetween | WayToEnd;

/** A place where a step can be added. */
export type Spot = { readonly kind: 'end'; readonly step: Step; readonly port: Port } | { readonly kind: 'way'; readonly way: Way };

/** What can be done on the canvas. It never changes, so that what shows it is not drawn again. */
export interface Actions {
  readonly open: (step: string) => void;
  readonly activate: (step: string) => void;
  readonly addAt: (spots: readonly Spot[]) => void;
  readonly drag: Drag;
  /** Whether a step should take the focus now; asking takes the wish away. */
  readonly takesFocus: (step: string) => boolean;
}

/** What can be done on the canvas. */
export const ActionsContext = createContext<Actions | undefined>(undefined);

/** What can be done on the canvas around. */
export function useActions(): Actions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error('This is not on a canvas.');
  return actions;
}

/** How round the corners of ways are. */
export const RADIUS = 8;
/** The opacity of a way that nobody took. */
export const DIM = 0.35;

/** Below this size nothing on a step or a way can be read or pressed. */
export const FAR = 0.3;

/** Whether the graph is so small that only its shape is seen; then words and buttons would be work without use. */
export const FarContext = createContext(false);

/** Whether the canvas around is so small that only the shape of its graph is seen. */
export const useIsFar = (): boolean => useContext(FarContext);
