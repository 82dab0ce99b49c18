import { type CSSProperties, Suspense } from 'react';
import { lazyPart } from '#/router/lazy';
import { t } from './texts';
import { Table } from './table';

/** The colour of a line. */
export type ChartTone = 'accent' | 'good' | 'warn' | 'bad' | 'muted';

/** A line of a chart. */
export interface ChartSeries {
  name: string;
  /** A value for each point; null where there is none. */
  values: readonly (number | null)[];
  tone: ChartTone;
  /** Dashes, for what the others are compared with: colour alone says nothing. */
  dashed?: boolean;
  /** The area below is filled lightly. */
  filled?: boolean;
}

/** A place on the horizontal axis. */
export interface ChartPoint {
  /** For the axis, where there is little room. */
  short: string;
  /** For reading the values. */
  long: string;
}

/** What a chart shows. */
export interface ChartProps {
  /** What it is about, for those who do not see it. */
  label: string;
  points: readonly ChartPoint[];
  series: readonly ChartSeries[];
  /** Writes a value, such as `number` or `percent`. */
  format: (value: number) => string;
  /** The height of the drawing in pixels. */
  height?: number;
  /** Leads to the rows of a point. */
  onPick?: (index: number) => void;
}

const Body = lazyPart(() => import('./chart-body'));

/**
 * Lines over time. Values are read with the pointer or, once it has the focus, with the arrow keys; Enter picks a point. A
 * table of the same figures is below it. Its code is loaded with the first chart, into room that is already kept.
 */
export function Chart(props: ChartProps) {
  const { label, points, series, format, height = 200 } = props;
  return (
    <figure className="m-0 space-y-2">
      <div
        className="h-[calc(var(--plot)+2.5rem)] min-w-0 sm:h-[calc(var(--plot)+1.75rem)]"
        style={{ '--plot': `${height}px` } as CSSProperties}
      >
        <Suspense>
          <Body {...props} height={height} />
        </Suspense>
      </div>
      <details>
        <summary className="w-fit text-meta text-muted hover:text-ink">{t.chartTable}</summary>
        <div className="mt-2 max-h-80 overflow-y-auto">
          <Table
            label={label}
            rows={points.map(({ long }, index) => ({ long, index }))}
            rowKey={(row) => String(row.index)}
            columns={[
              { name: t.chartDay, cell: (row) => row.long },
              ...series.map((line) => ({
                name: line.name,
                right: true,
                cell: (row: { index: number }) => {
                  const value = line.values[row.index];
                  return value === null || value === undefined ? '–' : format(value);
                },
              })),
            ]}
          />
        </div>
      </details>
    </figure>
  );
}
