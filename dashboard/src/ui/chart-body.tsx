import 'uplot/dist/uPlot.min.css';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import type { ChartProps, ChartSeries } from './chart';
import { t } from './texts';

const root = document.documentElement;
const css = (name: string): string => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** How far apart labels of the horizontal axis are at least, in pixels. */
const LABEL_PX = 70;

function lineOf(line: ChartSeries): uPlot.Series {
  return {
    label: line.name,
    stroke: () => css(line.tone),
    width: line.dashed ? 1.5 : 2,
    points: { show: false },
    ...(line.dashed ? { dash: [4, 4] } : {}),
    // an eighth of the colour, in both themes
    ...(line.filled ? { fill: () => `${css(line.tone)}20` } : {}),
  };
}

function optionsOf(width: number, props: Required<Pick<ChartProps, 'height'>> & ChartProps, onIndex: (index: number | null) => void): uPlot.Options {
  const { points, series, format, height } = props;
  const axis = { font: FONT, stroke: () => css('muted'), ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 12, 0, 0],
    scales: {
      x: { time: false },
      // from zero, and never flat: a line of zeros lies on the axis
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 8,
        space: LABEL_PX,
        incrs: [1, 2, 5, 7, 10, 14, 30, 60, 90, 180, 365],
        values: (_plot, at) => at.map((index) => points[index]?.short ?? ''),
      },
      {
        ...axis,
        grid: { stroke: () => css('line'), width: 1 },
        size: (_plot, values) => 14 + Math.max(0, ...(values ?? []).map((value) => value.length)) * 6.5,
        values: (_plot, at) => at.map((value) => format(value)),
      },
    ],
    series: [{}, ...series.map(lineOf)],
    hooks: { setCursor: [(plot) => onIndex(plot.cursor.idx ?? null)] },
  };
}

/** A chart whose code is there. */
export default function ChartBody(props: ChartProps & { height: number }) {
  const { label, points, series, format, height, onPick } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [index, setIndex] = useState<number | null>(null);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const data = [points.map((_, at) => at), ...series.map((line) => [...line.values])] as uPlot.AlignedData;
    const chart = new uPlot(optionsOf(element.clientWidth, { ...props, height }, setIndex), data, element);
    plot.current = chart;
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const themed = new MutationObserver(() => chart.redraw(false, true));
    themed.observe(root, { attributeFilter: ['data-theme'] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
    // oxlint-disable-next-line react/exhaustive-deps -- what it shows, not the object that says so
  }, [points, series, format, height]);

  const shown = index ?? points.length - 1;
  const point = points[shown];
  const text = (line: ChartSeries) => {
    const value = line.values[shown];
    return value === null || value === undefined ? '–' : format(value);
  };
  const move = (to: number) => {
    const next = Math.max(0, Math.min(points.length - 1, to));
    setIndex(next);
    const left = plot.current?.valToPos(next, 'x');
    if (left !== undefined) plot.current?.setCursor({ left, top: 0 }, false);
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: shown - 1,
      ArrowDown: shown - 1,
      ArrowRight: shown + 1,
      ArrowUp: shown + 1,
      PageDown: shown - 7,
      PageUp: shown + 7,
      Home: 0,
      End: points.length - 1,
    };
    const step = steps[event.key];
    if (step !== undefined) move(step);
    else if (event.key === 'Enter' && onPick) onPick(shown);
    else return;
    event.preventDefault();
  };

  return (
    <>
      <p aria-hidden className="flex h-10 flex-wrap content-start items-center gap-x-4 overflow-hidden text-meta whitespace-nowrap sm:h-7">
        <span className="font-medium">{point?.long}</span>
        {series.map((line) => (
          <span key={line.name} className="inline-flex items-center gap-1.5">
            <svg width="14" height="4" aria-hidden>
              <line
                x1="0"
                y1="2"
                x2="14"
                y2="2"
                stroke={`var(--${line.tone})`}
                strokeWidth="2"
                strokeDasharray={line.dashed ? '4 3' : undefined}
              />
            </svg>
            <span className="text-muted">{line.name}</span>
            <span className="tabular font-medium">{text(line)}</span>
          </span>
        ))}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- onKey has Enter */}
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={`${label}. ${t.chartKeys}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, points.length - 1)}
        aria-valuenow={Math.max(0, shown)}
        aria-valuetext={`${point?.long ?? ''}: ${series.map((line) => `${line.name} ${text(line)}`).join(', ')}`}
        onKeyDown={onKey}
        onClick={() => index !== null && onPick?.(index)}
        className={onPick ? 'min-w-0 cursor-pointer overflow-hidden rounded-control' : 'min-w-0 overflow-hidden rounded-control'}
        style={{ height }}
      />
    </>
  );
}
