import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { type Proof, ProvenConfirm } from '#/features/user/ProvenConfirm';
import { go } from '#/router';
import { PROJECT } from '#/router/address';
import { Button } from '#/ui/button';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { forgetProject } from '../change';
import { useProject } from '../open';
import { t } from './texts';

/** Emptying and deleting a project. */
export default function Danger() {
  const project = useProject();
  const [asking, setAsking] = useState<'reset' | 'delete'>();
  const path = { id: project.id };
  const close = () => setAsking(undefined);

  const reset = async (proof: Proof) => {
    await call(api.POST('/users/@me/projects/{id}/reset', { params: { path }, body: proof }));
    // what was loaded is gone
    await queries.invalidateQueries({ queryKey: ['project'] });
    done(t.wasReset);
  };
  const remove = async (proof: Proof) => {
    await call(api.DELETE('/users/@me/projects/{id}', { params: { path }, body: proof }));
    done(t.wasDeleted(project.name));
    forgetProject(project.id);
    go('/', { search: { [PROJECT]: undefined }, replace: true });
  };

  return (
    <>
      <Section
        danger
        title={t.reset}
        lead={t.resetText}
        actions={
          <Button disabled={project.disabled} onClick={() => setAsking('reset')}>
            {t.resetAction}
          </Button>
        }
      >
        <p>{t.resetStays}</p>
        {project.disabled && <p className="mt-2 text-muted">{t.disabledNote}</p>}
      </Section>
      <Section
        danger
        title={t.delete}
        lead={t.deleteText}
        actions={
          <Button variant="danger" disabled={project.disabled} onClick={() => setAsking('delete')}>
            {t.deleteAction}
          </Button>
        }
      >
        <p>{t.deleteBilling}</p>
        {project.disabled && <p className="mt-2 text-muted">{t.disabledNote}</p>}
      </Section>
      <ProvenConfirm
        open={asking === 'reset'}
        onClose={close}
        title={t.resetQuestion(project.name)}
        action={t.resetAction}
        typed={project.name}
        onConfirm={reset}
      >
        <p>{t.resetText}</p>
      </ProvenConfirm>
      <ProvenConfirm
        open={asking === 'delete'}
        onClose={close}
        title={t.deleteQuestion(project.name)}
        action={t.deleteAction}
        typed={project.name}
        onConfirm={remove}
      >
        <p>{t.deleteText}</p>
      </ProvenConfirm>
    </>
  );
}
