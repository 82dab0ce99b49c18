import type { Schemas } from '#/api/client';
import type { State } from './queries';

type Totals = readonly Schemas['LedgerTotal'][];

/** The states in the order in which the ledger line names them. */
export const STATES: readonly State[] = ['ACCEPTED', 'WAITING', 'SKIPPED', 'FAILED', 'IN_DOUBT'];

/** One number of the ledger line. */
export interface Term {
  state: State;
  count: number;
  /** Its parts, the largest first; empty when there is no reason. */
  reasons: readonly { reason: string; count: number }[];
}

/** The numbers of the ledger line that are not zero. Their sum is the audience. */
export function terms(totals: Totals): Term[] {
  return STATES.map((state) => {
    const of = totals.filter((total) => total.state === state);
    return {
      state,
      count: of.reduce((sum, total) => sum + total.count, 0),
      reasons: of
        .flatMap((total) => (total.reason ? [{ reason: String(total.reason), count: total.count }] : []))
        .toSorted((a, b) => b.count - a.count),
    };
  }).filter((term) => term.count > 0);
}

/** The audience: the sum of the ledger. */
export function audienceOf(all: readonly Term[]): number {
  return all.reduce((sum, term) => sum + term.count, 0);
}
