import { AlertTriangle, CornerDownRight, Info, Plus, Trash2 } from 'lucide';
import { useMemo } from 'react';
import { IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { type Graph, portOf, stepAt } from '../model/graph';
import { type Line, outlineOf } from '../model/outline';
import { ICONS } from '../step/kinds';
import { type Names, portName, summaryOf } from '../step/summary';
import { t as stepTexts } from '../step/texts';
import type { Spot } from './canvas';
import type { Overlay } from './elements';
import { t } from './texts';

/** How far branches are indented, and where that ends. */
const INDENT = 20;
const DEEPEST = 5;

const keyOf = (line: Line): string => (line.kind === 'step' ? line.step.id : line.kind === 'joins' ? line.way.id : `${line.step.id} ${line.port.key}`);

/** The steps as a list, with everything that can be done on the canvas. */
export function Outline({ graph, names, overlay, open, onOpen, onAddAt, onAddAfter, onRemove }: {
  graph: Graph;
  names: Names;
  overlay: Overlay;
  open: string;
  onOpen: (step: string) => void;
  onAddAt: (spots: readonly Spot[]) => void;
  onAddAfter: (step: string) => void;
  onRemove: (step: string) => void;
}) {
  const lines = useMemo(() => outlineOf(graph), [graph]);
  return (
    <ol aria-label={t.steps} className="divide-y divide-line rounded-card border border-line bg-panel">
      {lines.map((line) => (
        <li
          key={keyOf(line)}
          className={classes('flex min-h-11 items-center gap-2 pr-2', line.kind === 'step' && line.step.id === open && 'bg-accent-soft')}
          style={{ paddingLeft: 12 + Math.min(line.depth, DEEPEST) * INDENT }}
        >
          {line.kind === 'step' ? (
            <StepLine
              line={line}
              branch={branchOf(graph, line)}
              summary={summaryOf(line.step, names)}
              overlay={overlay}
              onOpen={() => onOpen(line.step.id)}
              onAdd={() => onAddAfter(line.step.id)}
              onRemove={() => onRemove(line.step.id)}
            />
          ) : line.kind === 'joins' ? (
            <>
              <Branch name={branchOf(graph, line)} />
              <Icon of={CornerDownRight} size={14} className="shrink-0 text-muted" />
              <button type="button" onClick={() => onOpen(line.step.id)} className="min-h-6 min-w-0 truncate text-left hover:underline">
                {t.goesOnAt(line.step.name)}
              </button>
            </>
          ) : (
            <>
              <Branch name={portName(line.step, line.port)} />
              <button
                type="button"
                aria-label={portName(line.step, line.port) ? t.addAfterBranch(line.step.name, portName(line.step, line.port)) : t.addAfter(line.step.name)}
                onClick={() => onAddAt([{ kind: 'end', step: line.step, port: line.port }])}
                className="inline-flex h-7 items-center gap-1 rounded-full border border-dashed border-control px-2 text-meta text-muted hover:border-accent hover:text-accent"
              >
                <Icon of={Plus} size={13} />
                {t.addNext}
              </button>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

function branchOf(graph: Graph, line: Line & { kind: 'step' | 'joins' }): string {
  const from = line.way && stepAt(graph, line.way.from);
  return from && line.way ? portName(from, portOf(line.way)) : '';
}

function Branch({ name }: { name: string }) {
  return name ? <span className="max-w-28 shrink-0 truncate rounded-full border border-line px-1.5 text-meta text-muted">{name}</span> : null;
}

function StepLine({ line, branch, summary, overlay, onOpen, onAdd, onRemove }: {
  line: Line & { kind: 'step' };
  branch: string;
  summary: string;
  overlay: Overlay;
  onOpen: () => void;
  onAdd: () => void;
  onRemove: () => void;
}) {
  const { step } = line;
  const figures = overlay.figures?.get(step.id);
  const mark = overlay.marks?.get(step.id);
  return (
    <>
      <Branch name={branch} />
      <button type="button" onClick={onOpen} className="flex min-h-9 min-w-0 flex-1 items-center gap-2 text-left">
        <Icon of={ICONS[step.type]} size={15} className="shrink-0 text-accent" />
        <span className="min-w-0 flex-1 sm:flex sm:items-baseline sm:gap-2">
          <span className="block max-w-full shrink-0 truncate font-medium">{step.name}</span>
          <span className="block min-w-0 truncate text-meta text-muted">{summary || stepTexts.kinds[step.type].name}</span>
        </span>
        {mark && (
          <span className={classes('flex shrink-0 items-center gap-1 text-meta', mark === 'fails' ? 'text-bad' : 'text-warn')}>
            <Icon of={mark === 'fails' ? AlertTriangle : Info} size={14} />
            <span className="max-sm:sr-only">{t.marks[mark]}</span>
          </span>
        )}
        {figures && (
          <span className="shrink-0 text-right text-meta tabular" title={figures.title}>
            {figures.first}
            {figures.second && <span className="text-muted max-sm:block max-sm:whitespace-nowrap"> {figures.second}</span>}
          </span>
        )}
      </button>
      {step.type !== 'EXIT' && (
        <IconButton size="small" label={t.addAfter(step.name)} onClick={onAdd}>
          <Icon of={Plus} size={14} />
        </IconButton>
      )}
      {step.type !== 'TRIGGER' && (
        <IconButton size="small" className="max-sm:hidden" label={t.remove(step.name)} onClick={onRemove}>
          <Icon of={Trash2} size={14} />
        </IconButton>
      )}
    </>
  );
}
