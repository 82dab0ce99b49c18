import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  change, depthOf, duplicate, type FilterTree, type Group, insert, isTree, newGroup, newRule, placeOf, read, remove, rulesOf, setLogic, wrap, write,
} from '#/features/segment/builder/tree';

const pro = { field: 'data.plan', operator: 'equals', value: 'pro' } as const;
const seen = { field: 'event.login', operator: 'notTriggeredWithin', value: 30, unit: 'days' } as const;
const open = { field: 'email.opened', operator: 'triggered' } as const;

/** A condition in which everything occurs. */
const TREE: FilterTree = {
  logic: 'OR',
  groups: [
    { filters: [pro] },
    { filters: [seen, open] },
    { filters: [], conditions: { logic: 'OR', groups: [{ filters: [pro] }, { filters: [open] }] } },
    { filters: [pro], conditions: { logic: 'OR', groups: [{ filters: [seen] }, { filters: [open] }] } },
  ],
} as FilterTree;

/** What a condition says about a contact for which some fields hold. */
function holds(tree: FilterTree, facts: ReadonlySet<string>): boolean {
  const groups = tree.groups as { filters: { field: string }[]; conditions?: FilterTree }[];
  const results = groups.map((group) => group.filters.every((one) => facts.has(one.field)) && (!group.conditions || holds(group.conditions, facts)));
  return tree.logic === 'AND' ? results.every(Boolean) : results.some(Boolean);
}

const ALL = ['data.plan', 'event.login', 'email.opened'];
const CASES = Array.from({ length: 8 }, (_, bits) => new Set(ALL.filter((_name, index) => bits & (1 << index))));

test('a condition means the same when it was read and written', () => {
  const written = write(read(TREE)).tree;
  for (const facts of CASES) assert.equal(holds(written, facts), holds(TREE, facts), [...facts].join());
  assert.deepEqual(write(read(written)).tree, written, 'and is written in one way');
  assert.deepEqual(rulesOf(read(written)).map((rule) => rule.field), rulesOf(read(TREE)).map((rule) => rule.field));
});

test('several nested groups of an AND become groups of their own', () => {
  const any = (): Group => ({ ...newGroup('OR'), children: [newRule(), newRule()] });
  const root: Group = { ...newGroup(), children: [any(), any()] };
  const { tree } = write(root);
  assert.equal(tree.logic, 'AND');
  assert.deepEqual((tree.groups as { filters: unknown[] }[]).map((group) => group.filters.length), [0, 0]);
  assert.equal(depthOf(read(tree)), 2);
});

test('every path that an issue can have leads to its part', () => {
  const root = read(TREE);
  const written = write(root);
  const rules = rulesOf(root);
  assert.equal(placeOf('condition.groups.0.filters.0.value', written, root), rules[0]?.id);
  assert.equal(placeOf('condition.groups.1.filters.1.operator', written, root), rules[2]?.id);
  assert.equal(placeOf('groups.2.conditions.groups.1.filters.0', written, root), rules[4]?.id);
  assert.equal(placeOf('condition.groups.3.conditions.groups.0.filters.0.unit', written, root), rules[6]?.id);
  assert.equal(placeOf('condition', written, root), root.id);
  for (const [path, id] of written.places) assert.equal(placeOf(path, written, root), id);
});

test('rules are added, changed, copied, wrapped and removed', () => {
  let root = newGroup();
  const [first] = rulesOf(root);
  assert.ok(first);
  root = change(root, first.id, { field: 'email', operator: 'contains', value: 'ada' });
  const second = newRule();
  root = insert(root, root.id, second, first.id);
  const inner = newGroup('OR');
  root = insert(root, root.id, inner);
  assert.equal(depthOf(root), 2);
  root = duplicate(root, first.id);
  const [, copy] = rulesOf(root);
  assert.equal(copy?.field, 'email');
  assert.notEqual(copy?.id, first.id);
  root = wrap(root, second.id);
  assert.equal(rulesOf(root).length, 5);
  root = setLogic(root, root.id, 'OR');
  assert.equal(root.logic, 'OR');
  for (const rule of rulesOf(root)) root = remove(root, rule.id);
  assert.deepEqual(root.children, [], 'empty groups go, and the outermost stays');
  assert.deepEqual(write(root).tree, { logic: 'OR', groups: [{ filters: [] }] }, 'which the API refuses');
});

test('what did not change stays the same object', () => {
  const root = read(TREE);
  const [first] = rulesOf(root);
  assert.ok(first);
  const after = change(root, first.id, { value: 'free' });
  assert.equal(after.children[3], root.children[3]);
});

test('an address holds a condition or nothing', () => {
  assert.ok(isTree(TREE));
  for (const other of [null, 5, 'x', {}, { logic: 'AND' }, { logic: 'AND', groups: [{}] }, { logic: 'XOR', groups: [] }, { logic: 'AND', groups: [{ filters: [null] }] }]) {
    assert.equal(isTree(other), false, JSON.stringify(other));
  }
});
