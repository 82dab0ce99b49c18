import { cpus, loadavg } from 'node:os';

/** One figure, and what it has to reach. */
export interface Line {
  case: string;
  what: string;
  value: number;
  unit: 'ms' | 'MB' | 'elements' | 'rows';
  /** The most that the figure may be. Without it the figure is only shown. */
  most?: number;
  /** What was found around it, such as the median. */
  beside?: string;
}

const shown = (value: number, unit: Line['unit']) => `${unit === 'elements' || unit === 'rows' ? Math.round(value) : value.toFixed(1)} ${unit}`;
const load = () => loadavg().map((one) => one.toFixed(1)).join(' ');

/** Everything measured in a run. */
export class Report {
  readonly #lines: (Line & { load: string })[] = [];

  /** Adds a figure with the load of the machine at this moment, and shows it as progress. */
  add(line: Line): void {
    const added = { ...line, load: (loadavg()[0] ?? 0).toFixed(1) };
    this.#lines.push(added);
    console.error(`  ${cells(added).filter(Boolean).join('  ')}`);
  }

  /** How many figures are over what they may be. */
  missed(): number {
    return this.#lines.filter((line) => verdict(line) === 'MISSED').length;
  }

  /** The table, and the machine it holds for. */
  text(): string {
    const rows = [['', 'what', 'figure', 'around it', 'bar', '', 'load'], ...this.#lines.map(cells)];
    const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
    let last = '';
    const table = rows.map((row) => {
      const text = row.map((cell, column) => (column === 2 || column === 6 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)));
      const gap = row[0] === last ? '' : '\n';
      last = row[0] ?? '';
      return gap + text.join('  ').trimEnd();
    });
    const judged = this.#lines.filter((line) => line.most !== undefined).length;
    return [
      ...table,
      '',
      `note: ${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}), load at the end ${load()}.`,
      'note: lengths of frames include all that other programs of the machine take; processor time of the page does not.',
      `${judged} bars, ${this.missed()} missed`,
    ].join('\n');
  }
}

function verdict(line: Line): string {
  if (line.most === undefined) return '';
  return line.value <= line.most ? 'pass' : 'MISSED';
}

function cells(line: Line & { load: string }): string[] {
  const bar = line.most === undefined ? '' : `<= ${shown(line.most, line.unit)}`;
  return [line.case, line.what, shown(line.value, line.unit), line.beside ?? '', bar, verdict(line), line.load];
}

/** The value below which a share of the values is. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
