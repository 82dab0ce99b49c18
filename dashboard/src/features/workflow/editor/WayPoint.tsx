/**
 * Where ways leave a step (`source`), or come to it (`target`). The canvas finds it by its class and measures it. It is a
 * plain element: nobody draws ways by hand here, and each `Handle` would look at each change of the canvas.
 */
export function WayPoint({ of }: { of: 'source' | 'target' }) {
  return of === 'source' ? (
    <i className="source pointer-events-none absolute bottom-0 left-1/2" data-handlepos="bottom" />
  ) : (
    <i className="target pointer-events-none absolute top-0 left-1/2" data-handlepos="top" />
  );
}
