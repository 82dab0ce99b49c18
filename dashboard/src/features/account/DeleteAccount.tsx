import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projects } from '#/features/project/queries';
import { type Proof, ProvenConfirm } from '#/features/user/ProvenConfirm';
import type { User } from '#/features/user/queries';
import { leaveToSignIn } from '#/features/user/session';
import { PROJECT } from '#/router/address';
import { Button, TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { t } from './texts';

/** Deleting the account, once its person is a member of no project. */
export function DeleteAccount({ user }: { user: User }) {
  const [asking, setAsking] = useState(false);
  const { data: all } = useQuery(projects);
  const remove = async (proof: Proof) => {
    await call(api.DELETE('/users/@me', { body: proof }));
    leaveToSignIn();
  };
  const isFree = all?.length === 0;
  return (
    <Section
      danger
      title={t.deleteAccount}
      lead={t.deleteText}
      actions={
        <Button variant="danger" disabled={!isFree} onClick={() => setAsking(true)}>
          {t.deleteAccount}
        </Button>
      }
    >
      {all && all.length > 0 ? (
        <>
          <p>{t.leaveFirst}</p>
          <ul className="mt-2 list-disc pl-4">
            {all.map((project) => (
              <li key={project.id}>
                <TextLink
                  to="/settings"
                  search={{ [PROJECT]: project.id, tab: project.role === 'OWNER' && !project.disabled ? 'danger' : 'members' }}
                >
                  {project.name}
                </TextLink>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>{t.deleteFinal}</p>
      )}
      <ProvenConfirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.deleteQuestion}
        action={t.deleteAccount}
        typed={user.email}
        onConfirm={remove}
      >
        <p>{t.deleteFinal}</p>
      </ProvenConfirm>
    </Section>
  );
}
