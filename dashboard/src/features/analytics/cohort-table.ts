import type { Schemas } from '#/api/client';

/** A cohort with a cell for each month since. */
interface CohortLine {
  cohort: string;
  contacts: number;
  /** `share` is between 0 and 1. */
  cells: { opened: number; share: number }[];
}

/** How many months lie between two of them, such as `2026-09` and `2026-11`. */
function monthsBetween(from: string, to: string): number {
  const count = (month: string) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7));
  return count(to) - count(from);
}

/** The API's rows, one for each cohort and month, as a table: the newest cohort first. */
export function cohortTable(rows: readonly Schemas['CohortRow'][]): { months: number; rows: CohortLine[] } {
  const lines = new Map<string, CohortLine>();
  for (const row of rows) {
    const line = lines.get(row.cohort) ?? { cohort: row.cohort, contacts: row.contacts, cells: [] };
    lines.set(row.cohort, line);
    line.cells[monthsBetween(row.cohort, row.month)] = { opened: row.opened, share: row.openRate / 100 };
  }
  const all = [...lines.values()].toSorted((a, b) => b.cohort.localeCompare(a.cohort));
  for (const line of all) {
    // a month that the API leaves out had no opens
    for (let month = 0; month < line.cells.length; month += 1) line.cells[month] ??= { opened: 0, share: 0 };
  }
  return { months: Math.max(0, ...all.map((line) => line.cells.length)), rows: all };
}
