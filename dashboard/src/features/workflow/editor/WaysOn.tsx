import { Plus, X } from 'lucide';
import { IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { entering, type Graph, isStale, leaving, openPorts, portOf, type Step, stepAt, type Way } from '../model/graph';
import { portName } from '../step/summary';
import type { Spot } from './canvas';
import { t } from './texts';

/** Where a step leads, and what leads to it: each way can be followed, removed, or added. */
export function WaysOn({ graph, step, onOpen, onUnlink, onAdd }: {
  graph: Graph;
  step: Step;
  onOpen: (step: string) => void;
  onUnlink: (way: Way) => void;
  onAdd: (spot: Spot) => void;
}) {
  const before = entering(graph, step.id);
  const ways = leaving(graph, step.id);
  const open = openPorts(graph, step);
  return (
    <section className="space-y-3 border-t border-line pt-3">
      {before.length > 0 && (
        <div>
          <h3 className="font-medium">{t.comesFrom}</h3>
          <ul className="mt-1">
            {before.map((way) => {
              const from = stepAt(graph, way.from);
              const name = from?.name ?? '';
              return (
                <Row key={way.id} branch={from ? portName(from, portOf(way)) : ''} name={name} onOpen={() => onOpen(way.from)} onUnlink={() => onUnlink(way)} />
              );
            })}
          </ul>
        </div>
      )}
      {(ways.length > 0 || open.length > 0) && (
        <div>
          <h3 className="font-medium">{t.leadsTo}</h3>
          <ul className="mt-1">
            {ways.map((way) => {
              const branch = portName(step, portOf(way)) || (step.type === 'WAIT_FOR_EVENT' ? t.inAnyCase : '');
              return (
                <Row
                  key={way.id}
                  branch={isStale(step, way) ? `${branch} (${t.unused})` : branch}
                  name={stepAt(graph, way.to)?.name ?? ''}
                  onOpen={() => onOpen(way.to)}
                  onUnlink={() => onUnlink(way)}
                />
              );
            })}
            {open.map((port) => {
              const branch = portName(step, port);
              return (
                <li key={port.key} className="flex min-h-8 items-center gap-2">
                  {branch && <span className="text-muted">{branch}</span>}
                  <button type="button" onClick={() => onAdd({ kind: 'end', step, port })} className="inline-flex h-7 items-center gap-1 rounded-control px-1 text-accent hover:bg-raised">
                    <Icon of={Plus} size={13} />
                    {branch ? t.addNextFor(branch) : t.addNext}
                  </button>
                </li>
              );
            })}
          </ul>
        </div>
      )}
    </section>
  );
}

function Row({ branch, name, onOpen, onUnlink }: { branch: string; name: string; onOpen: () => void; onUnlink: () => void }) {
  return (
    <li className="flex min-h-8 items-center gap-2">
      {branch && <span className="max-w-24 shrink-0 truncate text-muted">{branch}</span>}
      <button type="button" onClick={onOpen} className="min-h-6 min-w-0 truncate text-left font-medium hover:underline">
        {name}
      </button>
      <span className="ml-auto">
        <IconButton size="small" label={t.unlink(name)} onClick={onUnlink}>
          <Icon of={X} size={13} />
        </IconButton>
      </span>
    </li>
  );
}
