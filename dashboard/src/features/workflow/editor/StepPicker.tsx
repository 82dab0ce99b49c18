import { CornerDownRight } from 'lucide';
import { Command } from 'cmdk';
import { useState } from 'react';
import { Dialog } from '#/ui/dialog';
import { Select } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { type Graph, mayLead, portOf, type StepType, stepAt } from '../model/graph';
import { ADDABLE, ICONS } from '../step/kinds';
import { portName } from '../step/summary';
import { t as stepTexts } from '../step/texts';
import type { Spot } from './canvas';
import { t } from './texts';

const ITEM = 'flex min-h-9 cursor-default items-center gap-2.5 rounded-control px-2 data-[selected=true]:bg-raised pointer-coarse:min-h-11';
const GROUP = '[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-meta [&_[cmdk-group-heading]]:text-muted';

/** What a spot is called: the step before it, and the branch. */
function nameOf(graph: Graph, spot: Spot): string {
  const step = spot.kind === 'end' ? spot.step : stepAt(graph, spot.way.from);
  if (!step) return '';
  const branch = portName(step, spot.kind === 'end' ? spot.port : portOf(spot.way));
  return branch || step.name;
}

/** Chooses what comes next at a spot: a new step of a kind, or a step that is there already. */
export default function StepPicker({ graph, spots, onClose, onKind, onLink }: {
  graph: Graph;
  spots: readonly Spot[];
  onClose: () => void;
  onKind: (spot: Spot, type: Exclude<StepType, 'TRIGGER'>) => void;
  onLink: (spot: Spot & { kind: 'end' }, to: string) => void;
}) {
  const [at, setAt] = useState(0);
  const spot = spots[at] ?? spots[0];
  if (!spot) return null;
  const before = spot.kind === 'end' ? spot.step : stepAt(graph, spot.way.from);
  const targets = spot.kind === 'end' ? graph.steps.filter((step) => mayLead(graph, spot.step.id, step.id)) : [];
  const kinds = ADDABLE.filter((type) => spot.kind === 'end' || type !== 'EXIT');
  const title = spot.kind === 'end' ? t.whatNext(before?.name ?? '') : t.whatBetween(before?.name ?? '', stepAt(graph, spot.way.to)?.name ?? '');
  return (
    <Dialog open onClose={onClose} title={title}>
      {spots.length > 1 && (
        <div className="mb-3">
          <Select label={t.branch} value={at} onChange={(event) => setAt(Number(event.target.value))}>
            {spots.map((one, index) => (
              <option key={one.kind === 'end' ? one.port.key : one.way.id} value={index}>
                {nameOf(graph, one)}
              </option>
            ))}
          </Select>
        </div>
      )}
      <Command label={title} loop>
        <Command.Input
          autoFocus
          placeholder={t.findStep}
          className="mb-2 h-9 w-full rounded-control border border-control bg-panel px-2.5 text-input placeholder:text-muted"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto" label={title}>
          <Command.Empty className="px-2 py-3 text-muted">{t.noSuchStep}</Command.Empty>
          <Command.Group heading={t.newStep} className={GROUP}>
            {kinds.map((type) => {
              const kind = stepTexts.kinds[type];
              return (
                <Command.Item key={type} value={`${kind.name} ${type}`} keywords={[kind.words, kind.does]} onSelect={() => onKind(spot, type)} className={ITEM}>
                  <Icon of={ICONS[type]} size={15} className="shrink-0 text-accent" />
                  <span className="font-medium whitespace-nowrap">{kind.name}</span>
                  <span className="min-w-0 truncate text-meta text-muted">{kind.does}</span>
                </Command.Item>
              );
            })}
          </Command.Group>
          {spot.kind === 'end' && targets.length > 0 && (
            <Command.Group heading={t.existingStep} className={GROUP}>
              {targets.map((step) => (
                <Command.Item key={step.id} value={`${step.name} ${step.id}`} onSelect={() => onLink(spot, step.id)} className={ITEM}>
                  <Icon of={CornerDownRight} size={15} className="shrink-0 text-muted" />
                  <span className="min-w-0 truncate">{step.name}</span>
                  <span className="ml-auto shrink-0 text-meta text-muted">{stepTexts.kinds[step.type].name}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}
