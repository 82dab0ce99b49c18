import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { useProject } from '#/features/project/open';
import { Button } from '#/ui/button';
import { Dialog } from '#/ui/dialog';
import { Checkbox, Form, SubmitButton, TextField } from '#/ui/form';
import { rememberSecret } from './fresh';
import { type Key, type Scope, SCOPES } from './queries';
import { t } from './texts';

/** Making a secret key: its name, and what it opens. */
export function NewKey({ open, onClose, onMade }: { open: boolean; onClose: () => void; onMade: (key: Key) => void }) {
  return (
    <Dialog open={open} onClose={onClose} title={t.create} description={t.createText}>
      <Fields onClose={onClose} onMade={onMade} />
    </Dialog>
  );
}

function Fields({ onClose, onMade }: { onClose: () => void; onMade: (key: Key) => void }) {
  const project = useProject();
  const [scopes, setScopes] = useState<readonly Scope[]>(['send']);
  const all = scopes.includes('everything');
  const toggle = (scope: Scope, on: boolean) => {
    setScopes(SCOPES.filter((one) => (one === scope ? on : scopes.includes(one))));
  };
  const create = async (data: FormData) => {
    // everything holds the others
    const body = { name: String(data.get('name')), scopes: all ? (['everything'] as Scope[]) : [...scopes] };
    const made = await call(api.POST('/projects/{id}/keys', { params: { path: { id: project.id } }, body }));
    // code to copy has the key in it from now on, if it can do what the code does
    if (made.key && (all || scopes.includes('send'))) rememberSecret(project.id, made.key);
    onMade(made);
    onClose();
    await queries.invalidateQueries({ queryKey: projectKey('keys') });
  };
  return (
    <Form onSubmit={create}>
      <TextField
        name="name"
        label={t.name}
        placeholder={t.namePlaceholder}
        maxLength={100}
        autoComplete="off"
        autoFocus
        required
      />
      <fieldset className="space-y-2">
        <legend className="mb-2 font-medium">{t.scopesLegend}</legend>
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={t.scopeNames[scope]}
            hint={t.scopeTexts[scope]}
            checked={scopes.includes(scope) || all}
            disabled={all && scope !== 'everything'}
            onChange={(event) => toggle(scope, event.target.checked)}
          />
        ))}
      </fieldset>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t.cancel}</Button>
        <SubmitButton disabled={scopes.length === 0}>{t.create}</SubmitButton>
      </div>
    </Form>
  );
}
