import { useEffect, useMemo, useState } from 'react';
import type { Graph } from '../model/graph';
import { type Layout, placed, structureOf } from '../model/layout';
import { laidOut } from '../model/layouter';

/** A graph and where its parts are. */
export interface LaidOut {
  readonly graph: Graph;
  readonly layout: Layout;
}

/**
 * The places of the steps, which are computed anew only when steps or ways come or go. Until that is done, the graph of
 * before is shown where it was; at first there is none.
 */
export function useLayout(graph: Graph): LaidOut | undefined {
  const structure = useMemo(() => structureOf(graph), [graph]);
  const [automatic, setAutomatic] = useState<{ structure: string; layout: Layout }>();
  useEffect(() => {
    let isWanted = true;
    void laidOut(graph).then((layout) => isWanted && setAutomatic({ structure, layout }));
    return () => {
      isWanted = false;
    };
    // oxlint-disable-next-line react/exhaustive-deps -- the structure says when the graph is another one
  }, [structure]);
  const present = useMemo(
    () => (automatic?.structure === structure ? { graph, layout: placed(graph, automatic.layout) } : undefined),
    [graph, structure, automatic],
  );
  const [shown, setShown] = useState(present);
  if (present && shown !== present) setShown(present);
  return present ?? shown;
}
