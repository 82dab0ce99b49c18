import { Trash2, X } from 'lucide';
import { type ReactNode, useEffect, useRef } from 'react';
import { IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import type { Graph, Step, StepType, Way } from '../model/graph';
import type { Workflow } from '../queries';
import { BEGINNINGS, ICONS } from '../step/kinds';
import { StepForm, type StepValues } from '../step/StepForm';
import { t as stepTexts } from '../step/texts';
import { TriggerForm } from '../TriggerForm';
import type { Spot } from './canvas';
import { t } from './texts';
import { WaysOn } from './WaysOn';

/** The frame of a panel beside the canvas; on a narrow page it covers the canvas. Escape closes it. */
export function SidePanel({ type, title, actions, onClose, children }: {
  type: StepType;
  title: string;
  actions?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // a form whose first field takes the focus keeps it
    if (!heading.current?.closest('aside')?.contains(document.activeElement)) heading.current?.focus();
  }, []);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape leaves it, wherever the focus is within
    <aside
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
      className="flex w-full flex-col overflow-y-auto border-line bg-panel max-md:fixed max-md:inset-0 max-md:z-30 md:w-90 md:shrink-0 md:border-l"
    >
      <div className="sticky top-0 z-20 flex items-center gap-2 border-b border-line bg-panel p-3">
        <Icon of={ICONS[type]} size={16} className="shrink-0 text-accent" />
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate text-section font-semibold outline-none">
          {title}
        </h2>
        {actions}
        <IconButton size="small" label={t.closePanel} onClick={onClose}>
          <Icon of={X} size={16} />
        </IconButton>
      </div>
      <div className="space-y-4 p-3">{children}</div>
    </aside>
  );
}

/** A step that is there: what it is set to, and where it leads. */
export function StepPanel({ workflow, graph, step, note, templateName, eventName, onDirty, onSave, onOpen, onUnlink, onAdd, onRemove, onClose }: {
  workflow: Workflow;
  graph: Graph;
  step: Step;
  /** What there is to say above its form. */
  note: ReactNode;
  templateName: string | undefined;
  eventName: string;
  onDirty: (dirty: boolean) => void;
  onSave: (values: StepValues) => Promise<unknown>;
  onOpen: (step: string) => void;
  onUnlink: (way: Way) => void;
  onAdd: (spot: Spot) => void;
  onRemove: () => void;
  onClose: () => void;
}) {
  const remove = step.type !== 'TRIGGER' && (
    <IconButton size="small" label={t.remove(step.name)} onClick={onRemove}>
      <Icon of={Trash2} size={15} />
    </IconButton>
  );
  return (
    <SidePanel type={step.type} title={step.name} actions={remove} onClose={onClose}>
      <p className="text-muted">{stepTexts.kinds[step.type].does}</p>
      {note}
      {step.type === 'TRIGGER' ? (
        <TriggerForm narrow workflow={workflow} onDirty={onDirty} onSaved={onClose} />
      ) : (
        <StepForm
          type={step.type}
          initial={step}
          eventName={eventName}
          templateName={templateName}
          action={t.save}
          onDirty={onDirty}
          onSubmit={onSave}
        />
      )}
      <WaysOn graph={graph} step={step} onOpen={onOpen} onUnlink={onUnlink} onAdd={onAdd} />
    </SidePanel>
  );
}

/** A step that is not there yet. */
export function NewStepPanel({ type, eventName, lead, error, onDirty, onSave, onClose }: {
  type: Exclude<StepType, 'TRIGGER'>;
  eventName: string;
  /** Where it will stand. */
  lead: string;
  error?: unknown;
  onDirty: (dirty: boolean) => void;
  onSave: (values: StepValues) => Promise<unknown>;
  onClose: () => void;
}) {
  const kind = stepTexts.kinds[type];
  return (
    <SidePanel type={type} title={t.newOf(kind.name)} onClose={onClose}>
      <p className="text-muted">{lead}</p>
      {error !== undefined && <Problem error={error} />}
      <StepForm
        type={type}
        initial={{ name: kind.name, config: BEGINNINGS[type], templateId: null }}
        eventName={eventName}
        action={t.addStep}
        onDirty={onDirty}
        onSubmit={onSave}
      />
    </SidePanel>
  );
}
