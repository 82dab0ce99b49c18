import type { Schemas } from '#/api/client';
import type { FilterTree } from '#/features/segment/builder/tree';

/** Whom a campaign goes to, as somebody chooses it: everybody, a segment or a condition, without the members of segments. */
export interface Choice {
  base: 'ALL' | 'SEGMENT' | 'FILTERED';
  /** The segment, where one is the base; empty while none is chosen. */
  segmentId: string;
  /** The condition, where one is the base; undefined while it is not filled in. */
  condition: FilterTree | undefined;
  /** The segments whose members are left out. */
  without: readonly string[];
}

type Stored = Pick<Schemas['CampaignView'], 'audienceType' | 'segmentId' | 'audienceCondition'>;
type Fields = Pick<Schemas['UpdateCampaignRequest'], 'audienceType' | 'segmentId' | 'audienceCondition'>;

interface Rule {
  field: string;
  operator: string;
}

const SEGMENT = 'segment.';
const segmentOf = (rule: Rule) => rule.field.slice(SEGMENT.length);

/** Reads the audience of a campaign. The API has no segments to leave out: they are a condition around the rest. */
export function readChoice(stored: Stored): Choice {
  const { audienceType, segmentId, audienceCondition } = stored;
  const plain: Choice = {
    base: audienceType,
    segmentId: audienceType === 'SEGMENT' ? (segmentId ?? '') : '',
    condition: audienceType === 'FILTERED' ? (audienceCondition ?? undefined) : undefined,
    without: [],
  };
  return (plain.condition && unwrapped(plain.condition)) ?? plain;
}

function unwrapped(tree: FilterTree): Choice | undefined {
  const [group, ...others] = tree.groups as readonly { filters?: readonly Rule[]; conditions?: FilterTree | null }[];
  if (tree.logic !== 'AND' || !group || others.length > 0) return undefined;
  const rules = group.filters ?? [];
  const inner = group.conditions ?? undefined;
  const out = rules.filter((rule) => rule.field.startsWith(SEGMENT) && rule.operator === 'notMemberOfSegment');
  const rest = rules.filter((rule) => !out.includes(rule));
  if (out.length === 0) return undefined;
  const without = out.map(segmentOf);
  const nothing = { segmentId: '', condition: undefined, without };
  const [only, ...more] = rest;
  if (!only) return inner ? { ...nothing, base: 'FILTERED', condition: inner } : { ...nothing, base: 'ALL' };
  const isSegment = only.field.startsWith(SEGMENT) && only.operator === 'memberOfSegment';
  if (inner || more.length > 0 || !isSegment) return undefined;
  return { ...nothing, base: 'SEGMENT', segmentId: segmentOf(only) };
}

/** The fields that make a campaign go to a choice; undefined while it is not complete. */
export function writeChoice(choice: Choice): Fields | undefined {
  const { base, segmentId, condition, without } = choice;
  if (base === 'SEGMENT' && segmentId === '') return undefined;
  if (base === 'FILTERED' && !condition) return undefined;
  if (without.length === 0) {
    if (base === 'ALL') return { audienceType: 'ALL' };
    if (base === 'SEGMENT') return { audienceType: 'SEGMENT', segmentId };
    return { audienceType: 'FILTERED', audienceCondition: condition };
  }
  const filters: Rule[] = without.map((id) => ({ field: `${SEGMENT}${id}`, operator: 'notMemberOfSegment' }));
  if (base === 'SEGMENT') filters.unshift({ field: `${SEGMENT}${segmentId}`, operator: 'memberOfSegment' });
  const group = { filters, ...(base === 'FILTERED' ? { conditions: condition } : {}) };
  return { audienceType: 'FILTERED', audienceCondition: { logic: 'AND', groups: [group] } };
}

/** Whether two choices are stored as the same. */
export function isSameChoice(a: Choice, b: Choice): boolean {
  return JSON.stringify(writeChoice(a)) === JSON.stringify(writeChoice(b));
}
