import { useStoreApi } from '@xyflow/react';
import { type RefObject, useEffect, useState } from 'react';
import { FAR } from './canvas';

/** How long the canvas rests before a graph counts as seen from afar, or no longer, in milliseconds. */
const REST_MS = 60;

/**
 * Whether the graph is seen from afar. Then all of its steps are drawn, which takes longer than a frame, so it waits until
 * nothing moves: the canvas rests, and no step is `dragged`.
 */
export function useFar(dragged: RefObject<unknown>): boolean {
  const store = useStoreApi();
  const [isFar, setFar] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      timer = setTimeout(() => (dragged.current ? look() : setFar(store.getState().transform[2] < FAR)), REST_MS);
    };
    look();
    const stop = store.subscribe((state, before) => {
      if (state.transform !== before.transform) look();
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [store, dragged]);
  return isFar;
}
