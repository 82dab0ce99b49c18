import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventNames } from '#/features/event/queries';
import { contactFields } from '#/features/field/queries';
import type { Suggestion } from '#/ui/suggest-field';
import { segments } from '../queries';
import { ACTIVITIES, type ValueKind } from './rules';
import { fieldName, type Names } from './sentence';
import { t } from './texts';

/** What conditions can be about in this project. */
export interface Vocabulary extends Names {
  fields: readonly Suggestion[];
  /** Fields for a name that nobody has used yet. */
  fresh: (name: string) => readonly Suggestion[];
}

/**
 * Everything that a condition can be about. `context` names the values of the event that is being handled, for the
 * conditions of workflows. `without` is a segment that cannot refer to itself.
 */
export function useVocabulary(context?: readonly string[], without?: string): Vocabulary {
  const fields = useQuery(contactFields()).data;
  const events = useQuery(eventNames()).data;
  const known = useQuery(segments()).data;
  return useMemo(() => {
    const types = new Map((fields ?? []).map((field) => [field.field, field.type === 'string' ? 'text' : field.type] as const));
    const named = new Map((known ?? []).map((segment) => [segment.id, segment.name]));
    const names: Names = {
      type: (field): ValueKind => (field === 'subscribed' ? 'boolean' : (types.get(field) ?? 'text')),
      segment: (id) => named.get(id),
    };
    const field = (value: string, group: string, note?: string): Suggestion => ({ value, text: fieldName(value, names), group, note });
    const all = [
      ...['email', 'subscribed', 'createdAt', 'updatedAt'].map((name) => field(name, t.groups.profile)),
      ...(context ?? []).map((name) => ({ value: `event.${name}`, text: t.eventValue(name), group: t.groups.context })),
      ...(fields ?? []).filter((one) => one.isCustom).map((one) => field(one.field, t.groups.data, t.types[names.type(one.field)])),
      ...ACTIVITIES.map((name) => field(`email.${name}`, t.groups.activity)),
      ...(events ?? []).map((name) => field(`event.${name}`, t.groups.event)),
      ...(known ?? []).filter((one) => one.id !== without).map((one) => field(`segment.${one.id}`, t.groups.segment)),
    ];
    const values = new Set(all.map((one) => one.value));
    const fresh = (typed: string): Suggestion[] => {
      const name = typed.trim().replace(/^(data|event)\./, '');
      if (!name) return [];
      return [
        { value: `data.${name}`, text: t.newData(name), group: t.groups.fresh },
        { value: `event.${name}`, text: t.newEvent(name), group: t.groups.fresh },
      ].filter((one) => !values.has(one.value));
    };
    return { ...names, fields: all, fresh };
  }, [fields, events, known, context, without]);
}
