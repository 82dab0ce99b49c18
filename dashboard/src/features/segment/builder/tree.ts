import type { Schemas } from '#/api/client';
import type { ValueKind } from './rules';

/** A condition as the API takes it. */
export type FilterTree = Schemas['FilterTree'];
/** An operator of a filter. */
export type Operator = Extract<Schemas['Filter'], { field: string }>['operator'];
/** How the parts of a group are joined. */
export type Logic = Schemas['FilterLogic'];
/** A unit of a length of time. */
export type Unit = 'days' | 'hours' | 'minutes';

/** One filter while it is edited. Its field and value may be missing yet. */
export interface Rule {
  kind: 'rule';
  id: number;
  field: string;
  operator: Operator;
  value?: unknown;
  unit?: Unit | undefined;
  /** What its value is written as in the editor. It is no part of the condition. */
  as?: ValueKind | undefined;
}

/** Rules and groups that are joined by one word. */
export interface Group {
  kind: 'group';
  id: number;
  logic: Logic;
  children: readonly Node[];
}

/** A part of a condition. */
export type Node = Rule | Group;

/** How deep groups can be nested, as the API has it. */
export const MAX_DEPTH = 10;
/** How many rules a condition can have, as the API has it. */
export const MAX_RULES = 200;

let last = 0;

/** A rule that nobody has filled in. */
export function newRule(): Rule {
  return { kind: 'rule', id: ++last, field: '', operator: 'equals' };
}

/** A group with one empty rule. */
export function newGroup(logic: Logic = 'AND'): Group {
  return { kind: 'group', id: ++last, logic, children: [newRule()] };
}

interface RawGroup {
  filters?: readonly { field: string; operator: Operator; value?: unknown; unit?: unknown }[];
  conditions?: FilterTree | null;
}

function isUnit(value: unknown): value is Unit {
  return value === 'days' || value === 'hours' || value === 'minutes';
}

function readRules(group: RawGroup): Rule[] {
  return (group.filters ?? []).map(({ field, operator, value, unit }) => {
    const rule: Rule = { kind: 'rule', id: ++last, field, operator };
    if (value !== undefined) rule.value = value;
    if (isUnit(unit)) rule.unit = unit;
    return rule;
  });
}

/** The group of a condition that the API gave. What it writes in several ways comes out in one. */
export function read(tree: FilterTree): Group {
  const groups = tree.groups as readonly RawGroup[];
  const parts = groups.map((group): Node[] => {
    const rules: Node[] = readRules(group);
    if (group.conditions) rules.push(read(group.conditions));
    return rules;
  });
  const children =
    tree.logic === 'AND'
      ? parts.flat()
      : parts.map((nodes): Node => (nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'group', id: ++last, logic: 'AND', children: nodes }));
  return { kind: 'group', id: ++last, logic: tree.logic, children };
}

/** A condition as the API takes it, and which part of the editor each of its paths is. */
export interface Written {
  tree: FilterTree;
  /** From paths such as `groups.0.filters.1` to ids. */
  places: ReadonlyMap<string, number>;
}

/** Writes a group as the API takes it. Groups without rules are left out. */
export function write(root: Group): Written {
  const places = new Map<string, number>();
  return { tree: writeTree(pruned(root), '', places), places };
}

/** The group without groups in it that have no rules. */
function pruned(group: Group): Group {
  const children = group.children.map((node) => (node.kind === 'group' ? pruned(node) : node));
  return { ...group, children: children.filter((node) => node.kind === 'rule' || node.children.length > 0) };
}

function writeTree(group: Group, at: string, places: Map<string, number>): FilterTree {
  const groups: RawGroup[] = [];
  const add = (rules: readonly Rule[], nested?: Group, whole?: Group) => {
    const path = `${at}groups.${groups.length}`;
    if (whole) places.set(path, whole.id);
    rules.forEach((rule, index) => places.set(`${path}.filters.${index}`, rule.id));
    const filters = rules.map(writeRule);
    if (!nested) {
      groups.push({ filters });
      return;
    }
    places.set(`${path}.conditions`, nested.id);
    groups.push({ filters, conditions: writeTree(nested, `${path}.conditions.`, places) });
  };
  const rules = group.children.filter((node) => node.kind === 'rule');
  if (group.logic === 'AND') {
    const nested = group.children.filter((node) => node.kind === 'group');
    if (rules.length > 0 || nested.length === 0) add(rules, nested.shift());
    for (const node of nested) add([], node);
  } else {
    for (const node of group.children) {
      if (node.kind === 'rule') add([node]);
      else {
        // a group of the API is an AND of filters and one nested condition
        const inner = node.children.filter((child) => child.kind === 'group');
        const fits = node.logic === 'AND' && inner.length <= 1;
        if (fits) add(node.children.filter((child) => child.kind === 'rule'), inner[0], node);
        else add([], node);
      }
    }
    if (groups.length === 0) add([]);
  }
  return { logic: group.logic, groups: groups as FilterTree['groups'] };
}

function writeRule(rule: Rule) {
  return {
    field: rule.field,
    operator: rule.operator,
    ...(rule.value === undefined ? {} : { value: rule.value }),
    ...(rule.unit === undefined ? {} : { unit: rule.unit }),
  };
}

/** The part that a path of an issue is about, such as that of `condition.groups.0.filters.1.value`; else the whole. */
export function placeOf(path: string, written: Written, root: Group): number {
  let rest = path.replace(/^(condition|audienceCondition)\.?/, '');
  while (rest) {
    const id = written.places.get(rest);
    if (id !== undefined) return id;
    rest = rest.includes('.') ? rest.slice(0, rest.lastIndexOf('.')) : '';
  }
  return root.id;
}

/** Every rule of a group, nested ones included, in their order. */
export function rulesOf(group: Group): Rule[] {
  return group.children.flatMap((node) => (node.kind === 'rule' ? [node] : rulesOf(node)));
}

/** How deep groups are nested in a group, itself included. */
export function depthOf(group: Group): number {
  return 1 + Math.max(0, ...group.children.map((node) => (node.kind === 'group' ? depthOf(node) : 0)));
}

function mapGroups(group: Group, become: (group: Group) => Group): Group {
  const children = group.children.map((node) => (node.kind === 'group' ? mapGroups(node, become) : node));
  const same = children.every((node, index) => node === group.children[index]);
  return become(same ? group : { ...group, children });
}

/** Puts a part behind another one of a group; without one, at its end. */
export function insert(root: Group, into: number, node: Node, behind?: number): Group {
  return mapGroups(root, (group) => {
    if (group.id !== into) return group;
    const at = behind === undefined ? -1 : group.children.findIndex((child) => child.id === behind);
    return { ...group, children: at < 0 ? [...group.children, node] : group.children.toSpliced(at + 1, 0, node) };
  });
}

/** Changes a rule. */
export function change(root: Group, id: number, to: Partial<Omit<Rule, 'kind' | 'id'>>): Group {
  return mapGroups(root, (group) => {
    const at = group.children.findIndex((node) => node.id === id && node.kind === 'rule');
    const rule = group.children[at];
    return rule?.kind === 'rule' ? { ...group, children: group.children.with(at, { ...rule, ...to }) } : group;
  });
}

/** Joins the parts of a group by another word. */
export function setLogic(root: Group, id: number, logic: Logic): Group {
  return mapGroups(root, (group) => (group.id === id ? { ...group, logic } : group));
}

/** Takes a part out. A group that is empty afterwards goes with it, but never the outermost. */
export function remove(root: Group, id: number): Group {
  const without = (group: Group): Group => {
    const children = group.children
      .filter((node) => node.id !== id)
      .map((node) => (node.kind === 'group' ? without(node) : node))
      .filter((node) => node.kind === 'rule' || node.children.length > 0);
    return { ...group, children };
  };
  return without(root);
}

function renewed(node: Node): Node {
  if (node.kind === 'rule') return { ...node, id: ++last };
  return { ...node, id: ++last, children: node.children.map(renewed) };
}

/** Puts a copy of a part behind it. */
export function duplicate(root: Group, id: number): Group {
  return mapGroups(root, (group) => {
    const at = group.children.findIndex((node) => node.id === id);
    const node = group.children[at];
    return node ? { ...group, children: group.children.toSpliced(at + 1, 0, renewed(node)) } : group;
  });
}

/** Puts a rule into a group of its own, so that others can be joined to it in another way. */
export function wrap(root: Group, id: number): Group {
  return mapGroups(root, (group) => {
    const at = group.children.findIndex((node) => node.id === id);
    const node = group.children[at];
    if (!node) return group;
    const logic = group.logic === 'AND' ? 'OR' : 'AND';
    const around: Group = { kind: 'group', id: ++last, logic, children: [node, newRule()] };
    return { ...group, children: group.children.with(at, around) };
  });
}

/** Whether a value has the outer shape of a condition, such as one in an address. The API looks at the rest. */
export function isTree(value: unknown): value is FilterTree {
  if (typeof value !== 'object' || value === null) return false;
  const tree = value as Record<string, unknown>;
  return (tree.logic === 'AND' || tree.logic === 'OR') && Array.isArray(tree.groups) && tree.groups.every(isGroup);
}

function isGroup(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { filters, conditions } = value as Record<string, unknown>;
  const areFilters = Array.isArray(filters) && filters.every((filter) => typeof filter?.field === 'string' && typeof filter.operator === 'string');
  return areFilters && (conditions === undefined || conditions === null || isTree(conditions));
}
