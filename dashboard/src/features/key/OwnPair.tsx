import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { useProject } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { type Proof, ProvenConfirm } from '#/features/user/ProvenConfirm';
import { Button } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Once } from '#/ui/once';
import { Facts, Section } from '#/ui/page';
import { Time } from '#/ui/time';
import { rememberSecret } from './fresh';
import type { Key } from './queries';
import { t } from './texts';
import { Withdrawn } from './Withdrawn';

/** When a key was used last. */
function LastUse({ of }: { of: Key | undefined }) {
  return <span className="text-muted">{of?.lastUsedAt ? <>{t.lastUsed} <Time at={of.lastUsedAt} /></> : t.neverUsed}</span>;
}

/** The project's own pair of keys, and replacing it. */
export function OwnPair({ keys, mayManage }: { keys: readonly Key[]; mayManage: boolean }) {
  const project = useProject();
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<{ secret: string; withdrawn: readonly string[] }>();
  const secret = keys.find((key) => key.kind === 'secret');
  const open = keys.find((key) => key.kind === 'public');

  const replace = async (proof: Proof) => {
    const params = { path: { id: project.id } };
    const answer = await call(api.POST('/users/@me/projects/{id}/regenerate-keys', { params, body: proof }));
    if (answer.secret) rememberSecret(project.id, answer.secret);
    setMade({ secret: answer.secret ?? '', withdrawn: answer.withdrawnInvitations ?? [] });
    await Promise.all([
      queries.invalidateQueries({ queryKey: projectKey('keys') }),
      queries.invalidateQueries({ queryKey: projectKey('invitations') }),
      queries.invalidateQueries({ queryKey: projects.queryKey }),
    ]);
  };
  return (
    <Section
      title={t.pair}
      lead={t.pairText}
      actions={mayManage && <Button onClick={() => setAsking(true)}>{t.replace}</Button>}
    >
      <div className="space-y-4">
        {made && (
          <Once title={t.newSecret} text={made.secret} what={t.secret}>
            {t.once}
            <Withdrawn addresses={made.withdrawn} />
          </Once>
        )}
        <Facts
          rows={[
            [
              t.publicKey,
              <div key="public" className="space-y-0.5">
                {open?.key && <Copyable text={open.key} what={t.publicKey} />}
                <p className="text-meta">{t.publicText} · <LastUse of={open} /></p>
              </div>,
            ],
            [
              t.secret,
              <div key="secret" className="space-y-0.5">
                <code className="font-mono text-meta">sk_…{secret?.hint ?? ''}</code>
                <p className="text-meta">{t.secretText} · <LastUse of={secret} /></p>
              </div>,
            ],
          ]}
        />
      </div>
      <ProvenConfirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.replaceQuestion}
        action={t.replace}
        onConfirm={replace}
      >
        <p>{t.replaceText}</p>
      </ProvenConfirm>
    </Section>
  );
}
