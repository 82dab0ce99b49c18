import { Plus, X } from 'lucide';
import { percent } from '#/i18n/format';
import { Button, IconButton } from '#/ui/button';
import { Select, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { branchesAt, type Config, modeOf, numberAt, textAt } from '../model/graph';
import type { Edit } from './edit';
import { FilterField } from './FilterField';
import { isUnary, OPERATORS, type Operator } from './kinds';
import { PathField } from './PathField';
import { t } from './texts';
import { ValueField } from './ValueField';

const MODES = { binary: t.one, multi: t.multi, filter: t.filter } as const;
/** How many branches a step has at most. */
const MOST = 20;

/** What each form of a condition begins with. A branch keeps its id when its name changes: ways are linked to it. */
function beginning(mode: string, config: Config): Config {
  const field = textAt(config, 'field');
  if (mode === 'multi') return { mode, field, branches: [{ id: 'a', name: '', operator: 'equals', value: '' }] };
  if (mode === 'filter') return { mode };
  return { field, operator: 'equals', value: '' };
}

/** Chooses a branch by what is known. */
export function ConditionFields(edit: Edit & { replace: (config: Config) => void; onInvalid: (invalid: boolean) => void }) {
  const { config, set, fault, eventName, replace, onInvalid } = edit;
  const mode = modeOf(config);
  return (
    <>
      <Select label={t.decideBy} name="config.mode" autoFocus value={mode} onChange={(event) => replace(beginning(event.target.value, config))}>
        {Object.entries(MODES).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </Select>
      {mode === 'filter' ? (
        <FilterField
          label={t.filterTree}
          hint={t.filterHint}
          name="config.condition"
          value={config.condition}
          error={fault('condition')}
          eventName={eventName}
          onChange={(condition, invalid) => {
            onInvalid(invalid);
            set({ condition });
          }}
        />
      ) : (
        <PathField value={textAt(config, 'field')} eventName={eventName} error={fault('field')} onChange={(field) => set({ field })} />
      )}
      {mode === 'binary' && (
        <>
          <OperatorField label={t.operator} name="config.operator" value={textAt(config, 'operator')} onChange={(operator) => set({ operator })} />
          {!isUnary(textAt(config, 'operator')) && (
            <ValueField label={t.value} name="config.value" value={config.value} error={fault('value')} onChange={(value) => set({ value })} />
          )}
        </>
      )}
      {mode === 'multi' && <BranchList {...edit} least={1} />}
    </>
  );
}

function OperatorField({ label, name, value, hideLabel = false, onChange }: {
  label: string;
  name?: string;
  value: string;
  hideLabel?: boolean;
  onChange: (operator: Operator) => void;
}) {
  return (
    <Select label={label} hideLabel={hideLabel} name={name} value={value} onChange={(event) => onChange(event.target.value as Operator)}>
      {OPERATORS.map((operator) => (
        <option key={operator} value={operator}>
          {t.operators[operator]}
        </option>
      ))}
    </Select>
  );
}

/** Chooses a branch by chance. */
export function SplitFields(edit: Edit) {
  return (
    <>
      <BranchList {...edit} least={2} />
      <p className="text-meta text-muted">{t.splitHint}</p>
    </>
  );
}

/** An id for a new branch: the first letter that no branch has. */
function freeId(taken: readonly string[]): string {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  return letters.find((letter) => !taken.includes(letter)) ?? `branch-${taken.length + 1}`;
}

function BranchList({ config, set, fault, least }: Edit & { least: 1 | 2 }) {
  const branches = branchesAt(config);
  const isSplit = least === 2;
  const total = branches.reduce((sum, branch) => sum + (numberAt(branch.config, 'weight') ?? 0), 0);
  const change = (index: number, to: Config) =>
    set({ branches: branches.map((branch, at) => (at === index ? { ...branch.config, ...to } : branch.config)) });
  const add = () => {
    const id = freeId(branches.map((branch) => branch.id));
    const first = isSplit ? { weight: 1, name: id.toUpperCase() } : { name: '', operator: 'equals', value: '' };
    set({ branches: [...branches.map((branch) => branch.config), { id, ...first }] });
  };
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium">{t.branches}</legend>
      {!isSplit && <p className="text-meta text-muted">{t.branchesOrder}</p>}
      {branches.map((branch, index) => (
        <div key={branch.id} className="space-y-2 rounded-control border border-line p-2">
          <div className="flex items-start gap-2">
            <div className="min-w-0 flex-1">
              <TextField
                label={t.branchName(index + 1)}
                hideLabel
                name={`config.branches.${index}.name`}
                value={branch.name}
                placeholder={branch.id}
                error={fault(`branches.${index}.name`)}
                onChange={(event) => change(index, { name: event.target.value === '' ? undefined : event.target.value })}
              />
            </div>
            {isSplit && (
              <div className="w-20 shrink-0">
                <TextField
                  label={t.weight(branch.name || branch.id)}
                  hideLabel
                  name={`config.branches.${index}.weight`}
                  type="number"
                  min={1}
                  value={numberAt(branch.config, 'weight') ?? ''}
                  error={fault(`branches.${index}.weight`)}
                  onChange={(event) => change(index, { weight: event.target.valueAsNumber || undefined })}
                />
              </div>
            )}
            <IconButton
              label={t.removeBranch(branch.name || branch.id)}
              disabled={branches.length <= least}
              onClick={() => set({ branches: branches.filter((_, at) => at !== index).map((one) => one.config) })}
            >
              <Icon of={X} size={14} />
            </IconButton>
          </div>
          {isSplit ? (
            <p className="text-meta text-muted tabular">
              {total > 0 && t.share(percent((numberAt(branch.config, 'weight') ?? 0) / total))}
            </p>
          ) : (
            <>
              <OperatorField
                label={t.branchOperator(index + 1)}
                hideLabel
                value={textAt(branch.config, 'operator')}
                onChange={(operator) => change(index, { operator })}
              />
              {!isUnary(textAt(branch.config, 'operator')) && (
                <ValueField
                  label={t.branchValue(index + 1)}
                  name={`config.branches.${index}.value`}
                  value={branch.config.value}
                  onChange={(value) => change(index, { value })}
                />
              )}
            </>
          )}
        </div>
      ))}
      {fault('branches') && <p className="text-meta font-medium text-bad">{fault('branches')}</p>}
      <Button size="small" disabled={branches.length >= MOST} onClick={add}>
        <Icon of={Plus} size={14} />
        {t.addBranch}
      </Button>
    </fieldset>
  );
}
