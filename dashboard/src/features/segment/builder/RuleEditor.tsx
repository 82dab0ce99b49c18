import { Copy, Group as GroupIcon, X } from 'lucide';
import { IconButton } from '#/ui/button';
import { SuggestField } from '#/ui/suggest-field';
import { Icon } from '#/ui/icon';
import { isBare, isSpan, kindOf, operatorsOf, type ValueKind, valueKindOf, withField, withOperator } from './rules';
import { fieldName, operatorName, ruleText } from './sentence';
import { t } from './texts';
import type { Rule } from './tree';
import { CONTROL, ValueEditor } from './ValueEditor';
import type { Vocabulary } from './vocabulary';

const TYPES: readonly ValueKind[] = ['text', 'number', 'boolean', 'date'];

/** What can be done with a rule. */
export interface RuleActions {
  change: (id: number, to: Partial<Rule>) => void;
  remove: (id: number) => void;
  duplicate: (id: number) => void;
  /** Puts it into a group of its own; undefined where groups cannot be nested deeper. */
  wrap: ((id: number) => void) | undefined;
  /** Adds a rule behind it. */
  addBehind: (id: number) => void;
}

/** One filter: its field, its operator, its value, and what the API says about it. */
export function RuleEditor({ rule, vocabulary, problem, actions }: {
  rule: Rule;
  vocabulary: Vocabulary;
  problem: string | undefined;
  actions: RuleActions;
}) {
  const kind = kindOf(rule.field, rule.operator);
  const type = vocabulary.type(rule.field);
  const valueKind = valueKindOf(rule, type);
  const name = rule.field ? fieldName(rule.field, vocabulary, rule.operator) : t.empty;
  const allowed = operatorsOf(kind, valueKind);
  const operators = allowed.includes(rule.operator) ? allowed : [...allowed, rule.operator];
  const change = (to: Partial<Rule>) => actions.change(rule.id, to);
  const setOperator = (text: string) => {
    const operator = operators.find((one) => one === text);
    if (operator) change(withOperator(rule, operator, valueKind));
  };
  const setType = (text: string) => {
    const as = TYPES.find((one) => one === text);
    if (!as || as === valueKind) return;
    const fits = operatorsOf('data', as).includes(rule.operator) && !isSpan(rule.operator);
    change({ as, operator: fits ? rule.operator : 'equals', value: as === 'boolean' ? true : undefined, unit: undefined });
  };
  return (
    <div data-node={rule.id} className="min-w-0 flex-1">
      <div className="flex flex-wrap items-center gap-1.5">
        <SuggestField
          label={`${t.field}: ${name}`}
          value={rule.field ? name : ''}
          placeholder={t.chooseField}
          suggestions={vocabulary.fields}
          more={vocabulary.fresh}
          nothing={t.nothing}
          invalid={problem !== undefined && rule.field === ''}
          onChoose={(chosen) => {
            const ofContext = chosen.group === t.groups.context;
            change(ofContext ? { field: chosen.value, operator: 'equals', value: undefined, unit: undefined, as: undefined } : withField(rule, chosen.value, vocabulary.type(chosen.value)));
          }}
          className="w-48 max-sm:w-full"
        />
        {rule.field !== '' && (
          <select
            aria-label={`${t.operator}: ${name}`}
            value={rule.operator}
            onChange={(event) => setOperator(event.target.value)}
            className={CONTROL}
          >
            {operators.map((operator) => (
              <option key={operator} value={operator}>
                {operatorName(operator, valueKind)}
              </option>
            ))}
          </select>
        )}
        <ValueEditor
          rule={rule}
          kind={valueKind}
          name={name}
          invalid={problem !== undefined}
          onChange={(to) => change(kind === 'data' && !isSpan(rule.operator) ? { as: valueKind, ...to } : to)}
          onEnter={() => actions.addBehind(rule.id)}
        />
        {kind === 'data' && !isBare(rule.operator) && !isSpan(rule.operator) && (
          <select
            aria-label={`${t.valueType}: ${name}`}
            value={valueKind}
            onChange={(event) => setType(event.target.value)}
            className={`${CONTROL} border-transparent! bg-transparent! text-muted!`}
          >
            {TYPES.map((one) => (
              <option key={one} value={one}>
                {t.types[one]}
              </option>
            ))}
          </select>
        )}
        <span className="ml-auto flex">
          {actions.wrap && (
            <IconButton size="small" label={t.wrap(ruleText(rule, vocabulary))} onClick={() => actions.wrap?.(rule.id)}>
              <Icon of={GroupIcon} size={14} />
            </IconButton>
          )}
          <IconButton size="small" label={t.duplicate(ruleText(rule, vocabulary))} onClick={() => actions.duplicate(rule.id)}>
            <Icon of={Copy} size={14} />
          </IconButton>
          <IconButton size="small" label={t.removeRule(ruleText(rule, vocabulary))} onClick={() => actions.remove(rule.id)}>
            <Icon of={X} size={14} />
          </IconButton>
        </span>
      </div>
      {problem !== undefined && (
        <p role="alert" className="mt-1 text-meta font-medium text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
