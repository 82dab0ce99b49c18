import { useEffect, useMemo, useRef } from 'react';
import type { Issue } from '#/api/error';
import { CodeBlock } from '#/ui/copy';
import { type GroupActions, GroupEditor } from './GroupEditor';
import { isComplete } from './rules';
import { sentence } from './sentence';
import { t } from './texts';
import { change, duplicate, type Group, insert, MAX_RULES, newGroup, newRule, placeOf, remove, rulesOf, setLogic, wrap, write } from './tree';
import { useVocabulary } from './vocabulary';

const NO_ISSUES: readonly Issue[] = [];

/**
 * Edits a condition on contacts: groups of filters, nested as deep as the API allows. The state is the caller's:
 * `useState(() => read(tree))` or `useState(() => newGroup())`, and `write(group).tree` is what the API takes.
 *
 * `issues` is what the API said about the condition, with paths such as `condition.groups.0.filters.1.value`; each is
 * shown at its filter. `context` names the values of the event that is being handled, for the conditions of workflows.
 * `marksEmpty` marks what is not filled in, which is right once somebody has tried to save.
 */
export function FilterBuilder({ value, onChange, issues = NO_ISSUES, marksEmpty = false, context, without }: {
  value: Group;
  onChange: (to: Group) => void;
  issues?: readonly Issue[];
  marksEmpty?: boolean;
  context?: readonly string[];
  /** A segment that is being edited: it cannot refer to itself. */
  without?: string;
}) {
  const root = useRef<HTMLDivElement>(null);
  const focus = useRef<string>(undefined);
  const vocabulary = useVocabulary(context, without);
  const written = useMemo(() => write(value), [value]);
  const rules = useMemo(() => rulesOf(value), [value]);
  const problems = useMemo(() => {
    const all = new Map<number, string>();
    for (const issue of issues) {
      const place = placeOf(issue.field, written, value);
      all.set(place, [all.get(place), issue.message].filter(Boolean).join(' '));
    }
    if (marksEmpty) for (const rule of rules) if (!isComplete(rule)) all.set(rule.id, t.incomplete);
    return all;
  }, [issues, written, value, rules, marksEmpty]);

  useEffect(() => {
    if (!focus.current) return;
    root.current?.querySelector<HTMLElement>(focus.current)?.focus();
    focus.current = undefined;
  }, [value]);

  /** Changes the condition, and puts the focus where the work goes on. */
  const act = (to: Group, selector: string) => {
    focus.current = selector;
    onChange(to);
  };
  const fieldOf = (id: number) => `[data-node="${id}"] input`;
  const actions: GroupActions = {
    change: (id, to) => onChange(change(value, id, to)),
    remove: (id) => {
      const before = rules[rules.findIndex((rule) => rule.id === id) - 1];
      const to = remove(value, id);
      const stays = before && rulesOf(to).some((rule) => rule.id === before.id);
      act(to, stays ? fieldOf(before.id) : '[data-add]');
    },
    duplicate: (id) => onChange(duplicate(value, id)),
    wrap: (id) => onChange(wrap(value, id)),
    setLogic: (id, logic) => onChange(setLogic(value, id, logic)),
    addBehind: (id) => {
      if (rules.length >= MAX_RULES) return;
      const rule = newRule();
      const parent = parentOf(value, id);
      act(insert(value, parent, rule, id), fieldOf(rule.id));
    },
    addRule: (group) => {
      const rule = newRule();
      act(insert(value, group, rule), fieldOf(rule.id));
    },
    addGroup: (group) => {
      const logic = logicOf(value, group) === 'AND' ? 'OR' : 'AND';
      const inner = newGroup(logic);
      act(insert(value, group, inner), fieldOf(inner.children[0]?.id ?? inner.id));
    },
  };
  const full = rules.length >= MAX_RULES;
  return (
    <div ref={root} className="space-y-3">
      <GroupEditor group={value} depth={1} vocabulary={vocabulary} problems={problems} actions={actions} full={full} />
      {full && <p className="text-muted">{t.tooMany}</p>}
      <p className="rounded-control bg-raised px-3 py-2 break-words">
        {sentence(value, vocabulary)}
      </p>
      <details>
        <summary className="w-fit text-meta text-muted hover:text-ink">{t.json}</summary>
        <div className="mt-2">
          <CodeBlock code={JSON.stringify(written.tree, null, 2)} what={t.jsonLabel} />
        </div>
      </details>
    </div>
  );
}

function groupsOf(group: Group): Group[] {
  return [group, ...group.children.flatMap((node) => (node.kind === 'group' ? groupsOf(node) : []))];
}

function parentOf(root: Group, id: number): number {
  return groupsOf(root).find((group) => group.children.some((node) => node.id === id))?.id ?? root.id;
}

function logicOf(root: Group, id: number) {
  return groupsOf(root).find((group) => group.id === id)?.logic ?? root.logic;
}
