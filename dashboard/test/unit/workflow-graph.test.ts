import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed } from '../../src/features/workflow/model/automatic.ts';
import { applied, difference, type Operation, renamed } from '../../src/features/workflow/model/difference.ts';
import { canSplice, type Graph, isStale, mayLead, openPorts, portsOf, reachable, type Step, stepAt, type StepType, type Way } from '../../src/features/workflow/model/graph.ts';
import { type History, NO_HISTORY, noted, stepBack, steppedBack } from '../../src/features/workflow/model/history.ts';
import { followers, isPinned, middleOf, overlaps, ownPart, placed, roundedPath, routeOf, STEP_SIZE, structureOf } from '../../src/features/workflow/model/layout.ts';
import { outlineOf } from '../../src/features/workflow/model/outline.ts';

const step = (id: string, type: StepType, config: Step['config'] = {}, position = { x: 0, y: 0 }): Step => ({
  id, type, name: id, position, config, templateId: null,
});
const way = (from: string, to: string, port: Partial<Pick<Way, 'branch' | 'outcome'>> = {}): Way => ({
  id: `${from}-${to}${port.branch ?? port.outcome ?? ''}`, from, to, branch: null, outcome: null, priority: 0, ...port,
});

/** trigger → mail → wait, whose event leads to a condition and whose timeout to the end; the condition's yes joins it. */
const GRAPH: Graph = {
  steps: [
    step('trigger', 'TRIGGER'),
    step('mail', 'SEND_EMAIL'),
    step('wait', 'WAIT_FOR_EVENT', { eventName: 'x', timeout: 60 }),
    step('test', 'CONDITION', { field: 'data.plan', operator: 'exists' }),
    step('end', 'EXIT'),
  ],
  ways: [
    way('trigger', 'mail'),
    way('mail', 'wait'),
    way('wait', 'test', { outcome: 'EVENT' }),
    way('wait', 'end', { outcome: 'TIMEOUT' }),
    way('test', 'end', { branch: 'yes' }),
  ],
};

const canon = (graph: Graph) => ({
  steps: graph.steps.toSorted((a, b) => a.id.localeCompare(b.id)),
  ways: graph.ways.toSorted((a, b) => a.id.localeCompare(b.id)),
});

/** Numbers between 0 and 1 that come in the same order each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A graph without loops, some of whose steps were put in place. A step of the same id has the same type in each. */
function randomGraph(next: () => number, size: number): Graph {
  const types: StepType[] = ['DELAY', 'CONDITION', 'WAIT_FOR_EVENT', 'EXIT', 'RANDOM_SPLIT'];
  const config = { timeout: 60, branches: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] };
  const steps = Array.from({ length: size }, (_, index) => {
    const position = next() < 0.2 ? { x: Math.round(next() * 900) + 1, y: Math.round(next() * 900) } : { x: 0, y: 0 };
    return step(`s${index}`, index === 0 ? 'TRIGGER' : (types[index % types.length] ?? 'DELAY'), config, position);
  });
  const ways: Way[] = [];
  for (const [index, from] of steps.entries()) {
    for (const port of portsOf(from)) {
      const to = steps[index + 1 + Math.floor(next() * 4)];
      if (to && next() < 0.7) ways.push({ ...way(from.id, to.id), id: `w${ways.length}`, branch: port.branch, outcome: port.outcome });
    }
  }
  return { steps, ways };
}

test('a step knows its ways on, and which of them are open', () => {
  const at = (id: string) => stepAt(GRAPH, id) ?? assert.fail(id);
  assert.deepEqual(portsOf(at('wait')).map((port) => port.outcome), ['EVENT', 'TIMEOUT']);
  assert.deepEqual(portsOf(step('x', 'WAIT_FOR_EVENT', { eventName: 'x' })).map((port) => port.outcome), ['EVENT']);
  assert.deepEqual(openPorts(GRAPH, at('test')).map((port) => port.branch), ['no']);
  assert.deepEqual(openPorts(GRAPH, at('wait')), []);
  assert.deepEqual(openPorts(GRAPH, at('end')), []);
  const multi = step('m', 'CONDITION', { mode: 'multi', field: 'data.plan', branches: [{ id: 'pro' }] });
  assert.deepEqual(portsOf(multi).map((port) => port.branch), ['pro', 'default']);
  assert.ok(isStale(multi, way('m', 'end', { branch: 'gone' })));
  assert.ok(!isStale(at('wait'), way('wait', 'end')), 'a way for both outcomes is used');
});

test('loops are seen before they are asked for', () => {
  assert.deepEqual([...reachable(GRAPH, 'wait')].toSorted(), ['end', 'test', 'wait']);
  assert.ok(mayLead(GRAPH, 'test', 'end'));
  assert.ok(!mayLead(GRAPH, 'test', 'mail'));
  assert.ok(!mayLead(GRAPH, 'test', 'trigger'));
  assert.ok(!mayLead(GRAPH, 'test', 'test'));
  assert.ok(canSplice(GRAPH, stepAt(GRAPH, 'mail') ?? assert.fail()));
  assert.ok(!canSplice(GRAPH, stepAt(GRAPH, 'test') ?? assert.fail()), 'it has branches');
});

test('a difference makes one graph of any other, without a loop in between', () => {
  const next = random(7);
  for (let round = 0; round < 200; round++) {
    const from = randomGraph(next, 2 + Math.floor(next() * 12));
    const to = randomGraph(next, 2 + Math.floor(next() * 12));
    const operations = difference(from, to);
    assert.deepEqual(canon(applied(from, operations)), canon(to));
    assert.deepEqual(difference(to, to), []);
    let graph = from;
    for (const operation of operations) {
      if (operation.does === 'removeStep') assert.equal(reachable(graph, operation.id).size, 1, 'it takes nothing along');
      if (operation.does === 'addWay') assert.ok(mayLead(graph, operation.way.from, operation.way.to));
      graph = applied(graph, [operation]);
    }
  }
});

test('undo and redo follow what was made again under another id', () => {
  let graph = GRAPH;
  let history: History = NO_HISTORY;
  let made = 0;
  const change = (operations: readonly Operation[]) => {
    const before = graph;
    graph = applied(graph, operations);
    history = noted(history, { before, after: graph });
  };
  /** Does what the service does: new things get new ids. */
  const back = (again: boolean) => {
    const operations = stepBack(history, again) ?? assert.fail('nothing to undo');
    const aliases = new Map<string, string>();
    for (const operation of operations) {
      if (operation.does === 'addStep') aliases.set(operation.step.id, `new ${made++}`);
      if (operation.does === 'addWay') aliases.set(operation.way.id, `new ${made++}`);
    }
    graph = renamed(applied(graph, operations), aliases);
    history = steppedBack(history, again, aliases);
  };
  const shape = (of: Graph) => ({
    names: of.steps.map((one) => one.name).toSorted(),
    ways: of.ways.map((one) => `${stepAt(of, one.from)?.name} ${stepAt(of, one.to)?.name} ${one.branch ?? one.outcome ?? ''}`).toSorted(),
  });
  const start = shape(graph);
  change([{ does: 'removeStep', id: 'test' }]);
  const without = shape(graph);
  change([{ does: 'changeStep', id: 'mail', change: { name: 'Hello' } }]);
  change([{ does: 'removeStep', id: 'mail' }]);
  const least = shape(graph);
  for (let round = 0; round < 3; round++) {
    back(false);
    back(false);
    assert.deepEqual(shape(graph), without);
    back(false);
    assert.deepEqual(shape(graph), start);
    assert.equal(stepBack(history, false), undefined);
    back(true);
    back(true);
    back(true);
    assert.deepEqual(shape(graph), least);
    assert.equal(stepBack(history, true), undefined);
  }
  change([]);
  assert.equal(history.past.length, 3, 'a change of nothing is none');
});

test('steps stand below what leads to them, and none lies on another', () => {
  const next = random(3);
  for (let round = 0; round < 20; round++) {
    const { steps, ways } = randomGraph(next, 30);
    const graph = { ways, steps: steps.map((one) => Object.assign({}, one, { position: { x: 0, y: 0 } })) };
    const layout = placed(graph, computed(graph));
    assert.equal(layout.steps.size, graph.steps.length);
    assert.ok(!overlaps(layout));
    for (const one of graph.ways) {
      const [from, to] = [layout.steps.get(one.from), layout.steps.get(one.to)];
      assert.ok(from && to && to.y >= from.y + STEP_SIZE.height, `${one.from} leads to ${one.to}`);
    }
  }
});

test('branches stand in the order in which they are tried, also when they come together', () => {
  const steps = [step('trigger', 'TRIGGER'), step('test', 'CONDITION', { field: 'data.plan', operator: 'exists' })];
  const ways = [way('trigger', 'test')];
  for (const branch of ['yes', 'no']) {
    steps.push(step(branch, 'DELAY'), step(`${branch} again`, 'DELAY'));
    ways.push(way('test', branch, { branch }), way(branch, `${branch} again`));
  }
  const isInOrder = (graph: Graph) => {
    const places = computed(graph).steps;
    return (places.get('yes')?.x ?? 0) < (places.get('no')?.x ?? 0);
  };
  assert.ok(isInOrder({ steps, ways }));
  const end = step('end', 'EXIT');
  assert.ok(isInOrder({ steps: [...steps, end], ways: [...ways, way('yes again', 'end'), way('no again', 'end')] }));
});

test('what follows a step moves with it, unless it was moved itself', () => {
  const automatic = computed(GRAPH);
  const before = placed(GRAPH, automatic);
  const move = (id: string, x: number, y: number, graph = GRAPH) => applied(graph, [{ does: 'changeStep', id, change: { position: { x, y } } }]);
  const mail = before.steps.get('mail') ?? assert.fail();
  const moved = move('mail', mail.x + 500, mail.y + 40);
  assert.equal(structureOf(moved), structureOf(GRAPH), 'places are not computed anew');
  const after = placed(moved, automatic);
  for (const id of ['mail', 'wait', 'test', 'end']) {
    assert.deepEqual(after.steps.get(id), { x: (before.steps.get(id)?.x ?? 0) + 500, y: (before.steps.get(id)?.y ?? 0) + 40 });
  }
  assert.deepEqual(after.steps.get('trigger'), before.steps.get('trigger'));
  assert.deepEqual([...followers(GRAPH, 'wait')].toSorted(), ['end', 'test', 'wait']);
  const pinned = move('test', 10, 20, moved);
  assert.ok(isPinned(stepAt(pinned, 'test') ?? assert.fail()));
  assert.deepEqual(placed(pinned, automatic).steps.get('test'), { x: 10, y: 20 });
  assert.ok(!followers(pinned, 'wait').has('test'));
});

test('ways run upright and level, and their names stand apart', () => {
  for (const [to, lane] of [[{ x: 300, y: 200 }, undefined], [{ x: 0, y: 80 }, undefined], [{ x: 300, y: 600 }, 150], [{ x: 0, y: -90 }, undefined]] as const) {
    const route = routeOf({ x: 0, y: 0 }, to, lane);
    route.slice(1).forEach((corner, index) => {
      const before = route[index] ?? assert.fail();
      assert.ok(corner.x === before.x || corner.y === before.y, JSON.stringify(route));
    });
    assert.match(roundedPath(route, 8), /^M0,0/);
    assert.ok(!roundedPath(route, 8).includes('NaN'));
  }
  assert.deepEqual(middleOf(routeOf({ x: 0, y: 0 }, { x: 300, y: 600 }, 150), 'end', 150), { x: 150, y: 300 });
  const parts = GRAPH.ways.map((one) => ownPart(GRAPH, one));
  assert.deepEqual(parts, ['end', 'end', 'end', 'middle', 'middle']);
});

test('200 steps are laid out in a moment', () => {
  const graph = randomGraph(random(11), 200);
  const began = performance.now();
  placed(graph, computed(graph));
  const took = performance.now() - began;
  assert.ok(took < 5_000, `it took ${took} ms`);
});

test('the list has every step once, with its open ends and where branches join', () => {
  const lines = outlineOf(GRAPH).map((line) => `${line.depth} ${line.kind} ${line.step.id}`);
  assert.deepEqual(lines, ['0 step trigger', '0 step mail', '0 step wait', '1 step test', '2 step end', '2 end test', '1 joins end']);
  const loose = { ...GRAPH, ways: GRAPH.ways.filter((one) => one.to !== 'mail') };
  assert.equal(outlineOf(loose).filter((line) => line.kind === 'step').length, GRAPH.steps.length);
});
