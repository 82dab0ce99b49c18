import { type Edge, useStoreApi } from '@xyflow/react';
import { type RefObject, startTransition, useEffect, useRef, useState } from 'react';
import { FAR } from './canvas';

/** By how many times the size changes at once when all of a graph is shown, and seldom while it is zoomed. */
const LEAP = 1.5;
/** How long the canvas rests before a graph counts as seen from afar, or no longer, in milliseconds. */
const REST_MS = 60;

/**
 * Whether the graph is seen from afar. Then all of its steps are drawn, which takes longer than a frame. So it waits until
 * nothing moves: the canvas rests, and no step is `dragged`; and React draws it bit by bit. After a leap everything is drawn
 * anew in any case, and at once as it is to be. `ways` are those that are drawn one by one from near.
 */
export function useFar(dragged: RefObject<unknown>, ways: Edge[]): boolean {
  const store = useStoreApi();
  const [isFar, setFar] = useState(false);
  const near = useRef(ways);
  useEffect(() => {
    near.current = ways;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (dragged.current) look();
        else startTransition(() => setFar(store.getState().transform[2] < FAR));
      }, REST_MS);
    };
    look();
    const stop = store.subscribe((state, before) => {
      if (state.transform === before.transform) return;
      const [size, sizeBefore] = [state.transform[2], before.transform[2]];
      if (!dragged.current && Math.max(size / sizeBefore, sizeBefore / size) > LEAP) {
        // else all ways that come into sight would be drawn one by one, to be taken away at once
        state.setEdges(size < FAR ? [] : near.current);
        setFar(size < FAR);
      }
      look();
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [store, dragged]);
  return isFar;
}
