import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { contactFields } from '#/features/field/queries';
import { useGuard } from '#/router';
import { Button } from '#/ui/button';
import { Form, SubmitButton } from '#/ui/form';
import { Section } from '#/ui/page';
import { SuggestField } from '#/ui/suggest-field';
import { done } from '#/ui/toast';
import { type DataRow, type DataType, isChanged, patchOf, RESERVED, rowsOf } from './data-rows';
import { DataField } from './DataField';
import type { Contact } from './queries';
import { t } from './texts';

const DEFAULTS: Record<DataType, string> = { text: '', number: '', boolean: 'true', date: '', json: '' };

/** The data of a contact, each field as what it is. */
export function DataEditor({ contact }: { contact: Contact }) {
  const [rows, setRows] = useState(() => rowsOf(contact.data as Record<string, unknown>));
  const [marks, setMarks] = useState(false);
  const focus = useRef<number>(undefined);
  const list = useRef<HTMLUListElement>(null);
  const { patch, problems } = useMemo(() => patchOf(rows), [rows]);
  const changed = rows.some(isChanged);
  useGuard(changed, t.leave);
  useEffect(() => {
    if (focus.current === undefined) return;
    list.current?.querySelector<HTMLElement>(`[data-row="${focus.current}"] :is(input, textarea, select)[data-value]`)?.focus();
    focus.current = undefined;
  }, [rows]);

  const change = (id: number, to: Partial<DataRow>) => setRows((before) => before.map((row) => (row.id === id ? { ...row, ...to } : row)));
  const remove = (row: DataRow) => {
    if (row.before) change(row.id, { isRemoved: !row.isRemoved });
    else setRows((before) => before.filter((one) => one.id !== row.id));
  };
  const add = (name: string, type: DataType) => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
    focus.current = id;
    setRows([...rows, { id, name, type, text: DEFAULTS[type], isRemoved: false }]);
  };
  const save = async () => {
    setMarks(true);
    if (problems.size > 0) return;
    const path = { id: contact.id };
    const saved = await call(api.PATCH('/contacts/{id}', { params: { path }, body: { data: patch as Record<string, never> } }));
    queries.setQueryData(projectKey('contacts', 'one', contact.id), saved);
    setRows(rowsOf(saved.data as Record<string, unknown>));
    setMarks(false);
    done(t.saved);
    void queries.invalidateQueries({ queryKey: projectKey('contacts') });
  };
  return (
    <Section title={t.data} lead={t.dataLead}>
      <Form onSubmit={save}>
        {rows.length === 0 && <p className="text-muted">{t.noData}</p>}
        <ul ref={list} className="space-y-2">
          {rows.map((row) => (
            <li key={row.id} data-row={row.id}>
              <DataField
                row={row}
                problem={marks || row.type === 'json' ? problems.get(row.id) : undefined}
                onChange={(to) => change(row.id, to)}
                onRemove={() => remove(row)}
              />
            </li>
          ))}
        </ul>
        <AddField present={rows.map((row) => row.name)} onAdd={add} />
        {changed && (
          <div className="flex justify-end gap-2">
            <Button
              onClick={() => {
                setRows(rowsOf(contact.data as Record<string, unknown>));
                setMarks(false);
              }}
            >
              {t.cancel}
            </Button>
            <SubmitButton>{t.save}</SubmitButton>
          </div>
        )}
      </Form>
    </Section>
  );
}

/** Adds a field that other contacts have, with its type, or a new one. */
function AddField({ present, onAdd }: { present: readonly string[]; onAdd: (name: string, type: DataType) => void }) {
  const known = useQuery(contactFields()).data ?? [];
  const [text, setText] = useState('');
  const free = known.filter((field) => field.isCustom && !present.includes(field.field.replace(/^data\./, '')));
  const name = text.trim();
  const problem = RESERVED.has(name) ? t.reserved : present.includes(name) ? t.fieldExists : undefined;
  const add = (chosen: string) => {
    if (chosen === '' || present.includes(chosen) || RESERVED.has(chosen)) return;
    const type = known.find((field) => field.field === `data.${chosen}`)?.type ?? 'string';
    onAdd(chosen, type === 'string' ? 'text' : type);
    setText('');
  };
  return (
    <div>
      <SuggestField
        label={t.addField}
        placeholder={`${t.addField}…`}
        value={text}
        invalid={problem !== undefined}
        suggestions={free.map((field) => {
          const bare = field.field.replace(/^data\./, '');
          return { value: bare, text: bare, note: t.types[field.type === 'string' ? 'text' : field.type] };
        })}
        more={(typed) => (typed.trim() === '' || known.some((field) => field.field === `data.${typed.trim()}`) ? [] : [{ value: typed.trim(), text: t.newField(typed.trim()) }])}
        onType={setText}
        onChoose={(chosen) => add(chosen.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || name === '') return;
          event.preventDefault();
          add(name);
        }}
      />
      {problem && (
        <p role="alert" className="mt-1 text-meta font-medium text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
