import { type RefObject, useEffect, useState } from 'react';
import { flushSync } from 'react-dom';

/** Rows beyond what is in sight, so that a quick scroll finds them drawn. */
const BEYOND = 12;
/** Rows come and go by so many at once: that is less work than one by one. */
const STEP = 4;

/** The first and the last row to draw. */
export interface RowRange {
  first: number;
  last: number;
}

/** Which rows of a height are in sight of the element that scrolls, and some more. */
export function useRowRange(scroller: RefObject<HTMLElement | null>, count: number, height: number): RowRange {
  const [range, setRange] = useState<RowRange>({ first: 0, last: 8 * STEP - 1 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const look = () => {
      const first = Math.max(0, Math.floor((element.scrollTop / height - BEYOND) / STEP) * STEP);
      const last = Math.ceil(((element.scrollTop + element.clientHeight) / height + BEYOND) / STEP) * STEP - 1;
      setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    // within the frame that shows the new place
    const onScroll = () => flushSync(look);
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [scroller, height]);
  // the list may have become shorter
  const last = Math.min(range.last, count - 1);
  return { first: Math.min(range.first, Math.max(0, last)), last };
}
