import { useQuery } from '@tanstack/react-query';
import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useGuard, oneOf, text, useSearchState } from '#/router';
import { lazyPart } from '#/router/lazy';
import { Confirm } from '#/ui/dialog';
import { Skeleton } from '#/ui/skeleton';
import { Overtaken, useFormKey } from '#/ui/unsaved';
import { type Graph, graphOf, leaving, openPorts, reachable, stepAt, type StepType, textAt, triggerOf, asConfig, type Way } from '../model/graph';
import { AUTOMATIC, isPinned, overlaps } from '../model/layout';
import { useNames } from '../names';
import { stats, type Workflow } from '../queries';
import type { StepValues } from '../step/StepForm';
import { portName } from '../step/summary';
import Canvas from './Canvas';
import type { Mark, Spot } from './canvas';
import type { Overlay } from './elements';
import { countsOf, figuresOf } from './figures';
import { Outline } from './Outline';
import { Problems } from './Problems';
import { RemoveStep } from './RemoveStep';
import { addStep, addWay, changeStep, insertStep, removeStep, removeWay } from './requests';
import { NewStepPanel, StepPanel } from './StepPanel';
import { t } from './texts';
import { useProblems } from '../useProblems';
import { Toolbar } from './Toolbar';
import { useEditing } from './useEditing';
import { useLayout } from './useLayout';
import { useUndoKeys } from './useUndoKeys';

const StepPicker = lazyPart(() => import('./StepPicker'), 'floats');

const SEARCH = { step: text, view: oneOf(['', 'graph', 'list']) };
/** Below this width the list is shown unless somebody chose the graph. */
const NARROW = '(max-width: 767px)';

/** A step that is being added: its spot and its kind. */
interface Adding {
  spot: Spot;
  type: Exclude<StepType, 'TRIGGER'>;
}

/** Where a step can be added behind another one: at its open ends, else on its ways. */
function spotsAfter(graph: Graph, id: string): readonly Spot[] {
  const step = stepAt(graph, id);
  if (!step) return [];
  const open = openPorts(graph, step).map((port) => ({ kind: 'end', step, port }) as const);
  return open.length > 0 ? open : leaving(graph, id).map((way) => ({ kind: 'way', way }));
}

/** What steps show beside themselves: figures, and what is wrong with them. */
function useOverlay(workflow: Workflow, graph: Graph) {
  const { data: figures } = useQuery(stats(workflow.id));
  const problems = useProblems(workflow, graph);
  const overlay = useMemo<Overlay>(() => {
    const marks = new Map<string, Mark>();
    for (const problem of problems.toReversed()) marks.set(problem.step, problem.severity);
    if (!figures || figures.entered === 0) return { marks };
    return { marks, figures: figuresOf(figures), counts: countsOf(graph, figures) };
  }, [graph, figures, problems]);
  return { overlay, problems };
}

/** The steps of a workflow, to be changed: as a graph or as a list. */
export default function EditorTab({ workflow }: { workflow: Workflow }) {
  const [{ step: open, view: chosen }, setSearch] = useSearchState(SEARCH);
  const graph = useMemo(() => graphOf(workflow), [workflow]);
  const laidOut = useLayout(graph);
  const names = useNames(workflow);
  const { overlay, problems } = useOverlay(workflow, graph);
  const editing = useEditing(workflow.id, graph);
  const [active, setActive] = useState(open || triggerOf(graph)?.id || '');
  const [focus, setFocus] = useState(0);
  const [spots, setSpots] = useState<readonly Spot[]>([]);
  const [adding, setAdding] = useState<Adding>();
  const [removing, setRemoving] = useState('');
  const [showsProblems, setShowsProblems] = useState(false);
  const [dirtyIn, setDirtyIn] = useState('');
  const [leave, setLeave] = useState<() => void>();
  // it opens at a key, and then has no time to load
  useEffect(() => StepPicker.preload(), []);
  const view = chosen || (matchMedia(NARROW).matches ? 'list' : 'graph');
  const eventName = workflow.triggerType === 'EVENT' ? textAt(asConfig(workflow.triggerConfig), 'eventName') : '';
  const present = stepAt(graph, active) ? active : (triggerOf(graph)?.id ?? '');
  const opened = adding ? undefined : stepAt(graph, open);
  // what was changed goes with its form
  const form = adding ? `new ${adding.type}` : (opened?.id ?? '');
  const dirty = form !== '' && dirtyIn === form;
  const setDirty = (is: boolean) => setDirtyIn(is ? form : '');
  // it begins anew with another step, and when this one was changed elsewhere
  const { key, isOvertaken } = useFormKey(opened ? JSON.stringify([opened.id, opened.config, opened.templateId, opened.name]) : '', dirty);

  useGuard(dirty, t.discard);
  useUndoKeys(editing);
  const toCanvas = useCallback((id?: string) => {
    if (id) setActive(id);
    setFocus((count) => count + 1);
  }, []);
  /** Does something that closes the form, after asking when it was changed. */
  const unlessDirty = useRef((action: () => void) => action());
  useEffect(() => {
    unlessDirty.current = (action) => (dirty ? setLeave(() => action) : action());
  });
  const openStep = useCallback(
    (id: string) =>
      unlessDirty.current(() => {
        setDirtyIn('');
        setAdding(undefined);
        if (id) setActive(id);
        setSearch({ step: id });
      }),
    [setSearch],
  );
  const close = () =>
    unlessDirty.current(() => {
      setDirty(false);
      setAdding(undefined);
      setSearch({ step: '' });
      toCanvas();
    });
  const addAt = useCallback((next: readonly Spot[]) => unlessDirty.current(() => next.length > 0 && setSpots(next)), []);
  const addAfter = useCallback((id: string) => addAt(spotsAfter(graph, id)), [addAt, graph]);

  const remove = (id: string, splice: boolean) => {
    const before = graph.ways.find((way) => way.to === id)?.from;
    setRemoving('');
    setDirty(false);
    const name = stepAt(graph, id)?.name ?? '';
    void editing.change(() => removeStep(workflow.id, id, splice), t.removed(name)).then((made) => {
      if (!made) return;
      setSearch({ step: '' });
      toCanvas(before);
    });
  };
  const askToRemove = (id: string) => {
    const step = stepAt(graph, id);
    if (!step || step.type === 'TRIGGER') return;
    // what nothing follows is removed at once: it can be undone
    if (reachable(graph, id).size === 1) remove(id, false);
    else setRemoving(id);
  };
  const add = async ({ spot, type }: Adding, values: StepValues) => {
    let id = '';
    await editing.attempt(async () => {
      const step = { type, ...values };
      if (spot.kind === 'way') {
        id = await insertStep(workflow.id, spot.way.id, step);
        return;
      }
      id = await addStep(workflow.id, step);
      await addWay(workflow.id, { from: spot.step.id, to: id, ...spot.port });
    });
    setDirty(false);
    setAdding(undefined);
    toCanvas(id);
  };
  const link = (spot: Spot & { kind: 'end' }, to: string) => {
    setSpots([]);
    void editing.change(() => addWay(workflow.id, { from: spot.step.id, to, ...spot.port }), t.linked);
    toCanvas(spot.step.id);
  };
  const unlink = (way: Way) => void editing.change(() => removeWay(workflow.id, way.id), t.unlinked);
  const save = async (id: string, values: StepValues) => {
    // what is read again is what was saved
    await editing.attempt(() => changeStep(workflow.id, id, values).then(() => setDirty(false)));
    setSearch({ step: '' });
    toCanvas(id);
  };
  const tidyUp = () => editing.move(graph.steps.filter(isPinned).map((step) => ({ id: step.id, position: AUTOMATIC })));

  return (
    <div className="flex h-[calc(100dvh-13.25rem)] min-h-112 overflow-hidden rounded-card border border-line bg-canvas max-md:h-auto max-md:overflow-visible">
      <div className="flex min-w-0 flex-1 flex-col">
        <Toolbar
          editing={editing}
          view={view}
          onView={(next) => setSearch({ view: next })}
          problems={problems}
          showsProblems={showsProblems}
          onProblems={() => setShowsProblems(!showsProblems)}
          isPinned={graph.steps.some((step) => step.type !== 'TRIGGER' && isPinned(step))}
          overlaps={laidOut !== undefined && overlaps(laidOut.layout)}
          onTidy={tidyUp}
        />
        {showsProblems && (
          <section aria-label={t.check} className="border-b border-line bg-panel">
            <Problems graph={graph} problems={problems} onOpen={openStep} />
          </section>
        )}
        {view === 'graph' && !laidOut && <Skeleton rows={8} />}
        {view === 'graph' && laidOut && (
          <Canvas
            className="min-h-96 flex-1"
            label={t.canvas}
            graph={laidOut.graph}
            layout={laidOut.layout}
            names={names}
            overlay={overlay}
            active={present}
            onActive={setActive}
            open={opened?.id ?? ''}
            onOpen={openStep}
            focus={focus}
            edit={{ addAt, addAfter, remove: askToRemove, move: editing.move }}
          />
        )}
        {view === 'list' && (
          <div className="overflow-y-auto p-3">
            <Outline
              graph={graph}
              names={names}
              overlay={overlay}
              open={opened?.id ?? ''}
              onOpen={openStep}
              onAddAt={addAt}
              onAddAfter={addAfter}
              onRemove={askToRemove}
            />
          </div>
        )}
      </div>
      {adding ? (
        <NewStepPanel
          key={`new ${adding.type}`}
          type={adding.type}
          eventName={eventName}
          lead={leadOf(graph, adding.spot)}
          onDirty={setDirty}
          onSave={(values) => add(adding, values)}
          onClose={close}
        />
      ) : (
        opened && (
          <StepPanel
            key={key}
            note={isOvertaken && <Overtaken onDiscard={() => setDirty(false)} />}
            workflow={workflow}
            graph={graph}
            step={opened}
            templateName={names.templates.get(opened.templateId ?? textAt(opened.config, 'templateId'))}
            eventName={eventName}
            onDirty={setDirty}
            onSave={(values) => save(opened.id, values)}
            onOpen={openStep}
            onUnlink={unlink}
            onAdd={(spot) => addAt([spot])}
            onRemove={() => askToRemove(opened.id)}
            onClose={close}
          />
        )
      )}
      {spots.length > 0 && (
        <Suspense>
          <StepPicker
            graph={graph}
            spots={spots}
            onClose={() => {
              setSpots([]);
              toCanvas();
            }}
            onKind={(spot, type) => {
              setSpots([]);
              setSearch({ step: '' });
              setAdding({ spot, type });
            }}
            onLink={link}
          />
        </Suspense>
      )}
      <Removing graph={graph} id={removing} onClose={() => setRemoving('')} onRemove={(splice) => remove(removing, splice)} />
      <Confirm
        open={leave !== undefined}
        onClose={() => setLeave(undefined)}
        title={t.discard}
        action={t.discardAction}
        onConfirm={async () => leave?.()}
      >
        <p>{t.discardText}</p>
      </Confirm>
    </div>
  );
}

function Removing({ graph, id, onClose, onRemove }: { graph: Graph; id: string; onClose: () => void; onRemove: (splice: boolean) => void }) {
  const step = stepAt(graph, id);
  return step ? <RemoveStep graph={graph} step={step} onClose={onClose} onRemove={onRemove} /> : null;
}

/** Where a new step will stand, in words. */
function leadOf(graph: Graph, spot: Spot): string {
  if (spot.kind === 'way') return t.leadBetween(stepAt(graph, spot.way.from)?.name ?? '', stepAt(graph, spot.way.to)?.name ?? '');
  const branch = portName(spot.step, spot.port);
  return branch ? t.leadBranch(spot.step.name, branch) : t.leadAfter(spot.step.name);
}
