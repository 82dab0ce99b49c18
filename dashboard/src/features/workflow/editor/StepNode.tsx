import type { NodeProps } from '@xyflow/react';
import { AlertTriangle, Check, Clock, Info, SkipForward, X } from 'lucide';
import { memo, useEffect, useRef } from 'react';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import type { StepType } from '../model/graph';
import { STEP_SIZE } from '../model/layout';
import { ICONS } from '../step/kinds';
import { t as stepTexts } from '../step/texts';
import { type Mark, type StepOnCanvas, useActions, useIsFar } from './canvas';
import { t } from './texts';
import { WayPoint } from './WayPoint';

const MARKS = {
  fails: { icon: AlertTriangle, tone: 'text-bad' },
  note: { icon: Info, tone: 'text-warn' },
  done: { icon: Check, tone: 'text-good' },
  waiting: { icon: Clock, tone: 'text-accent' },
  failed: { icon: X, tone: 'text-bad' },
  skipped: { icon: SkipForward, tone: 'text-muted' },
} as const satisfies Partial<Record<Mark, unknown>>;

const shownOf = (mark: Mark | undefined) => (mark && mark !== 'unseen' ? MARKS[mark] : undefined);

function nearLook(type: StepType, mark: Mark | undefined, isOpen: boolean): string {
  return classes(
    'flex items-center gap-2.5 rounded-card border bg-panel px-3 text-left',
    isOpen ? 'border-accent ring-1 ring-accent' : 'border-control hover:border-ink',
    type === 'TRIGGER' && 'border-accent',
    mark === 'unseen' && 'border-dashed text-muted',
  );
}

/** From afar a step is a patch of colour: its mark could not be made out, nor its outline. Forced colours show the border. */
function farLook(type: StepType, mark: Mark | undefined, isOpen: boolean): string {
  const tone = shownOf(mark)?.tone ?? (type === 'TRIGGER' ? 'text-accent' : 'text-control');
  return classes('block rounded-card border border-transparent bg-current hover:text-ink', isOpen ? 'text-ink' : tone, mark === 'unseen' && 'opacity-40');
}

/** A step on the canvas. */
export const StepNode = memo(function StepNode({ data }: NodeProps<StepOnCanvas>) {
  const { step, summary, figures, mark, isActive, isOpen } = data;
  const actions = useActions();
  const button = useRef<HTMLButtonElement>(null);
  const isFar = useIsFar();
  useEffect(() => {
    if (isActive && actions.takesFocus(step.id)) button.current?.focus({ preventScroll: true });
  });
  const shown = shownOf(mark);
  const kind = stepTexts.kinds[step.type].name;
  const label = [step.name, step.name === kind ? '' : kind, summary, mark ? t.marks[mark] : '', figures?.title ?? '']
    .filter(Boolean)
    .join(', ');
  return (
    <>
      <WayPoint of="target" />
      <button
        ref={button}
        type="button"
        tabIndex={isActive ? 0 : -1}
        aria-label={label}
        aria-expanded={isOpen}
        data-step={step.id}
        title={summary || undefined}
        onFocus={() => actions.activate(step.id)}
        onClick={() => actions.open(step.id)}
        style={STEP_SIZE}
        className={isFar ? farLook(step.type, mark, isOpen) : nearLook(step.type, mark, isOpen)}
      >
        {!isFar && (
          <>
            <span className="flex size-7 shrink-0 items-center justify-center rounded-control bg-accent-soft text-accent">
              <Icon of={ICONS[step.type]} size={15} />
            </span>
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{step.name}</span>
              <span className="block truncate text-meta text-muted">{summary || kind}</span>
            </span>
            {figures && (
              <span className="shrink-0 text-right text-meta tabular">
                <span className="block font-medium">{figures.first}</span>
                {figures.second && <span className="block text-muted">{figures.second}</span>}
              </span>
            )}
            {shown && <Icon of={shown.icon} size={15} className={classes('shrink-0', shown.tone)} />}
          </>
        )}
      </button>
      <WayPoint of="source" />
    </>
  );
});
