import { FolderPlus, Plus, X } from 'lucide';
import { Button, IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { type RuleActions, RuleEditor } from './RuleEditor';
import { t } from './texts';
import { type Group, type Logic, MAX_DEPTH } from './tree';
import { CONTROL } from './ValueEditor';
import type { Vocabulary } from './vocabulary';

/** What can be done with a group. */
export interface GroupActions extends RuleActions {
  addRule: (group: number) => void;
  addGroup: (group: number) => void;
  setLogic: (group: number, logic: Logic) => void;
}

/** Rules and groups that are joined by one word. */
export function GroupEditor({ group, depth, vocabulary, problems, actions, full }: {
  group: Group;
  /** 1 for the outermost. */
  depth: number;
  vocabulary: Vocabulary;
  /** What is wrong, by the id of the part. */
  problems: ReadonlyMap<number, string>;
  actions: GroupActions;
  /** Whether no more rules can be added. */
  full: boolean;
}) {
  const problem = problems.get(group.id);
  const mayNest = depth < MAX_DEPTH;
  const ruleActions = mayNest ? actions : { ...actions, wrap: undefined };
  return (
    <div
      role="group"
      aria-label={depth === 1 ? t.condition : t.group(depth)}
      data-node={group.id}
      className={depth === 1 ? '' : 'min-w-0 flex-1 rounded-card border border-line border-l-2 border-l-accent bg-canvas p-2 max-sm:p-1.5'}
    >
      <div className="mb-2 flex items-center gap-2">
        <select
          aria-label={t.joined}
          value={group.logic}
          onChange={(event) => actions.setLogic(group.id, event.target.value === 'OR' ? 'OR' : 'AND')}
          className={`${CONTROL} font-medium`}
        >
          <option value="AND">{t.all}</option>
          <option value="OR">{t.any}</option>
        </select>
        {depth > 1 && (
          <IconButton size="small" label={t.removeGroup} className="ml-auto" onClick={() => actions.remove(group.id)}>
            <Icon of={X} size={14} />
          </IconButton>
        )}
      </div>
      {problem !== undefined && (
        <p role="alert" className="mb-2 text-meta font-medium text-bad">
          {problem}
        </p>
      )}
      <ul className="space-y-2">
        {group.children.map((node, index) => (
          <li key={node.id} className="flex gap-2 max-sm:flex-col max-sm:gap-1">
            <span className="w-10 shrink-0 pt-1.5 text-right text-meta text-muted max-sm:w-auto max-sm:pt-0 max-sm:text-left">
              {index === 0 ? t.where : group.logic === 'AND' ? t.and : t.or}
            </span>
            {node.kind === 'rule' ? (
              <RuleEditor rule={node} vocabulary={vocabulary} problem={problems.get(node.id)} actions={ruleActions} />
            ) : (
              <GroupEditor group={node} depth={depth + 1} vocabulary={vocabulary} problems={problems} actions={actions} full={full} />
            )}
          </li>
        ))}
      </ul>
      <div className="mt-2 flex flex-wrap gap-1 sm:ml-12">
        <Button size="small" variant="ghost" data-add disabled={full} onClick={() => actions.addRule(group.id)}>
          <Icon of={Plus} size={14} />
          {t.addRule}
        </Button>
        {mayNest && (
          <Button size="small" variant="ghost" disabled={full} onClick={() => actions.addGroup(group.id)}>
            <Icon of={FolderPlus} size={14} />
            {t.addGroup}
          </Button>
        )}
      </div>
    </div>
  );
}
