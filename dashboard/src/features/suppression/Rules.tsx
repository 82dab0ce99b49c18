import { useQuery } from '@tanstack/react-query';
import { Pencil, Plus, Trash2 } from 'lucide';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Button, IconButton } from '#/ui/button';
import { Confirm, Dialog } from '#/ui/dialog';
import { Checkbox, Form, Select, SubmitButton, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { Table } from '#/ui/table';
import { done } from '#/ui/toast';
import { rules, type Rule } from './queries';
import { t } from './texts';

const KINDS = Object.keys(t.kinds) as Schemas['RuleKind'][];
const refresh = () => queries.invalidateQueries({ queryKey: projectKey('suppressions') });

/** The rules that hold mail back. */
export function Rules() {
  const all = useQuery(rules());
  const [editing, setEditing] = useState<Rule | 'new'>();
  const [removing, setRemoving] = useState<Rule>();
  return (
    <Section
      title={t.rules}
      lead={t.rulesLead}
      actions={
        <Button size="small" onClick={() => setEditing('new')}>
          <Icon of={Plus} size={14} />
          {t.addRule}
        </Button>
      }
    >
      {all.error && !all.data ? (
        <Problem error={all.error} onRetry={() => void all.refetch()} />
      ) : !all.data ? (
        <Skeleton rows={3} />
      ) : all.data.length === 0 ? (
        <p className="text-muted">{t.noRules}</p>
      ) : (
        <Table
          label={t.rules}
          rows={all.data}
          rowKey={(rule) => rule.id}
          columns={[
            { name: t.name, cell: (rule) => <span className="break-words">{rule.name}</span> },
            { name: t.kind, wideOnly: true, cell: (rule) => t.kinds[rule.kind] },
            { name: t.pattern, cell: (rule) => <code className="font-mono text-meta break-all">{rule.pattern}</code> },
            {
              name: t.enabled,
              wideOnly: true,
              cell: (rule) => <Status tone={rule.enabled ? 'good' : 'muted'}>{rule.enabled ? t.enabled : '–'}</Status>,
            },
            {
              name: t.actions,
              hideName: true,
              right: true,
              cell: (rule) => (
                <span className="inline-flex">
                  <IconButton size="small" label={`${t.editRule}: ${rule.name}`} onClick={() => setEditing(rule)}>
                    <Icon of={Pencil} size={14} />
                  </IconButton>
                  <IconButton size="small" label={`${t.removeRule}: ${rule.name}`} onClick={() => setRemoving(rule)}>
                    <Icon of={Trash2} size={14} />
                  </IconButton>
                </span>
              ),
            },
          ]}
        />
      )}
      {editing && <RuleForm rule={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {removing && (
        <Confirm
          open
          onClose={() => setRemoving(undefined)}
          title={t.removeRuleTitle}
          action={t.removeRule}
          onConfirm={async () => {
            await call(api.DELETE('/suppressions/{id}', { params: { path: { id: removing.id } } }));
            await refresh();
            done(t.ruleRemoved);
          }}
        >
          <p>{t.removeRuleText}</p>
        </Confirm>
      )}
    </Section>
  );
}

function RuleForm({ rule, onClose }: { rule: Rule | undefined; onClose: () => void }) {
  const save = async (data: FormData) => {
    const body = {
      name: String(data.get('name')).trim(),
      kind: KINDS.find((kind) => kind === data.get('kind')) ?? 'ADDRESS',
      pattern: String(data.get('pattern')).trim(),
      enabled: data.get('enabled') === 'on',
    };
    if (rule) await call(api.PUT('/suppressions/{id}', { params: { path: { id: rule.id } }, body }));
    else await call(api.POST('/suppressions', { body }));
    await refresh();
    done(t.saved);
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={rule ? t.editRule : t.addRule}>
      <Form onSubmit={save}>
        <TextField name="name" label={t.name} defaultValue={rule?.name} autoFocus required />
        <Select name="kind" label={t.kind} defaultValue={rule?.kind ?? 'DOMAIN'}>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {t.kinds[kind]}
            </option>
          ))}
        </Select>
        <TextField name="pattern" label={t.pattern} defaultValue={rule?.pattern} spellCheck={false} required />
        <Checkbox name="enabled" label={t.enabled} defaultChecked={rule?.enabled ?? true} />
        <SubmitButton>{t.save}</SubmitButton>
      </Form>
    </Dialog>
  );
}
