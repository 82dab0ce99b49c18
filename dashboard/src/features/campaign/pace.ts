import { useEffect, useState } from 'react';

/** A count at a moment, in milliseconds. */
export interface Sample {
  at: number;
  count: number;
}

/** The stretch over which the pace is taken, in milliseconds. */
const STRETCH_MS = 20_000;

/** The samples with another one, as far as they are of the last stretch. A count that fell begins anew. */
export function withSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && next.count < last.count) return [next];
  return [...samples.filter((sample) => next.at - sample.at <= STRETCH_MS), next];
}

/** How many a second; undefined while there is too little to tell by. */
export function paceOf(samples: readonly Sample[]): number | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || last.at - first.at < 3_000 || last.count === first.count) return undefined;
  return ((last.count - first.count) * 1000) / (last.at - first.at);
}

/** How fast a count grows, by how often it is told; `at` is when it was told. */
export function usePace(count: number, at: number): number | undefined {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    setSamples((before) => withSample(before, { at, count }));
  }, [count, at]);
  return paceOf(samples);
}
