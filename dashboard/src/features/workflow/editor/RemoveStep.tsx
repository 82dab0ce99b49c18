import { Button } from '#/ui/button';
import { Dialog } from '#/ui/dialog';
import { canSplice, type Graph, reachable, type Step, stepAt } from '../model/graph';
import { t } from './texts';

/** How many names of steps are listed. */
const LISTED = 6;

/** Asks how to remove a step that others follow: alone, or with them. */
export function RemoveStep({ graph, step, onClose, onRemove }: {
  graph: Graph;
  step: Step;
  onClose: () => void;
  onRemove: (splice: boolean) => void;
}) {
  const behind = [...reachable(graph, step.id)].filter((id) => id !== step.id);
  const listed = behind.slice(0, LISTED).flatMap((id) => stepAt(graph, id) ?? []);
  const more = behind.length - listed.length;
  const splices = canSplice(graph, step);
  return (
    <Dialog open onClose={onClose} title={t.removeTitle(step.name)}>
      <div className="space-y-3">
        <p className="text-muted">{splices ? t.removeHow : t.removeBranches}</p>
        <ul className="list-disc pl-5">
          {listed.map((one) => (
            <li key={one.id} className="break-words">
              {one.name}
            </li>
          ))}
          {more > 0 && <li>{t.andMore(more)}</li>}
        </ul>
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button variant={splices ? 'default' : 'danger'} autoFocus={!splices} onClick={() => onRemove(false)}>
            {t.removeAll(behind.length + 1)}
          </Button>
          {splices && (
            <Button variant="primary" autoFocus onClick={() => onRemove(true)}>
              {t.removeAlone}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
