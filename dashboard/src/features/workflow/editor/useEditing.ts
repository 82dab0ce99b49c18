import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { queries } from '#/api/query';
import { done, failed } from '#/ui/toast';
import { applied, type Operation } from '../model/difference';
import { type Graph, graphOf, type Step } from '../model/graph';
import { type Change, type History, NO_HISTORY, noted, stepBack, steppedBack } from '../model/history';
import { inTurns } from '../model/turns';
import { refresh, stats, versions, type Workflow, workflow } from '../queries';
import { changeStep, run } from './requests';
import { t } from './texts';

/** How the steps of a workflow are changed, with undo and redo. */
export interface Editing {
  readonly busy: boolean;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /** Makes a change, and says what went wrong. Gives whether it was made. */
  readonly change: (action: () => Promise<unknown>, said?: string) => Promise<boolean>;
  /** Makes a change, and throws what went wrong, for a form to show it. */
  readonly attempt: (action: () => Promise<unknown>) => Promise<void>;
  readonly move: (places: readonly Pick<Step, 'id' | 'position'>[]) => void;
  readonly undo: () => void;
  readonly redo: () => void;
}

/** Changes the steps of a workflow: one request after the other, each change one step of the history. */
export function useEditing(id: string, graph: Graph): Editing {
  const [history, setHistory] = useState<History>(NO_HISTORY);
  const [pending, setPending] = useState(0);
  const present = useRef(graph);
  const past = useRef(history);
  const line = useRef<Promise<unknown>>(Promise.resolve());
  useEffect(() => {
    present.current = graph;
  }, [graph]);

  const remember = useCallback((next: History) => {
    past.current = next;
    setHistory(next);
  }, []);

  /** Does something when everything before it is done. */
  const inLine = useCallback(<T,>(work: () => Promise<T>): Promise<T> => {
    setPending((count) => count + 1);
    const result = line.current.then(work).finally(() => setPending((count) => count - 1));
    line.current = result.catch(() => undefined);
    return result;
  }, []);

  const reload = useCallback(async () => {
    const detail = await queries.fetchQuery({ ...workflow(id), staleTime: 0 });
    present.current = graphOf(detail);
    void queries.invalidateQueries({ queryKey: versions(id).queryKey });
    void queries.invalidateQueries({ queryKey: stats(id).queryKey });
    return present.current;
  }, [id]);

  /** Makes a change, and gives its entry in the history; none if it changed nothing. */
  const make = useCallback(
    (action: () => Promise<unknown>) =>
      inLine(async () => {
        const before = present.current;
        // what a change that failed has done nevertheless is part of it, and can be undone
        const outcome = await action().then(
          () => undefined,
          (error: unknown) => ({ error }),
        );
        const made: Change = { before, after: await reload() };
        remember(noted(past.current, made));
        if (outcome) throw outcome.error;
        return past.current.past.at(-1) === made ? made : undefined;
      }),
    [inLine, reload, remember],
  );

  /** Takes a step back or forth; with `only`, if that is the last change still. */
  const back = useCallback(
    (again: boolean, only?: Change) =>
      inLine(async () => {
        if (only && past.current.past.at(-1) !== only) return done(t.notLast);
        const operations = stepBack(past.current, again);
        if (!operations) return;
        try {
          const aliases = await run(id, operations);
          remember(steppedBack(past.current, again, aliases));
          done(again ? t.redone : t.undone);
        } catch (error) {
          // nobody knows any more what the changes before would lead to
          remember(NO_HISTORY);
          failed(error);
        }
        await reload();
      }).catch(failed),
    [id, inLine, reload, remember],
  );

  const move = useCallback(
    (places: readonly Pick<Step, 'id' | 'position'>[]) => {
      const operations: Operation[] = places.map((place) => ({ does: 'changeStep', id: place.id, change: { position: place.position } }));
      const before = present.current;
      const after = applied(before, operations);
      show(id, places);
      present.current = after;
      remember(noted(past.current, { before, after }));
      inLine(() => inTurns(places, (place) => changeStep(id, place.id, { position: place.position }))).catch(
        (error: unknown) => {
          failed(error);
          void refresh(id);
        },
      );
    },
    [id, inLine, remember],
  );

  return useMemo(
    () => ({
      busy: pending > 0,
      canUndo: history.past.length > 0,
      canRedo: history.future.length > 0,
      attempt: async (action) => void (await make(action)),
      change: (action, said) =>
        make(action).then(
          (made) => {
            if (said) done(said, made && (() => void back(false, made)));
            return true;
          },
          (error: unknown) => {
            failed(error);
            return false;
          },
        ),
      move,
      undo: () => void back(false),
      redo: () => void back(true),
    }),
    [pending, history, make, back, move],
  );
}

/** Shows steps where they were moved to, before the service knows. */
function show(id: string, places: readonly Pick<Step, 'id' | 'position'>[]): void {
  const moved = new Map(places.map((place) => [place.id, place.position]));
  queries.setQueryData(workflow(id).queryKey, (before: Workflow | undefined) =>
    before && {
      ...before,
      steps: before.steps.map((step) => ({ ...step, position: moved.get(step.id) ?? step.position })),
    },
  );
}
