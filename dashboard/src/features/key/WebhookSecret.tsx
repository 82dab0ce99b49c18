import { useState } from 'react';
import { api, call } from '#/api/client';
import { useProject } from '#/features/project/open';
import { type Proof, ProvenConfirm } from '#/features/user/ProvenConfirm';
import { Button } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Section } from '#/ui/page';
import { done, failed } from '#/ui/toast';
import { t } from './texts';

/** The secret that requests of workflows are signed with. It is asked for only when somebody wants to see it. */
export function WebhookSecret({ mayManage }: { mayManage: boolean }) {
  const project = useProject();
  const [secret, setSecret] = useState<string>();
  const [asking, setAsking] = useState(false);
  const params = { path: { id: project.id } };
  const show = async () => {
    try {
      setSecret((await call(api.GET('/projects/{id}/webhook-secret', { params }))).secret);
    } catch (error) {
      failed(error);
    }
  };
  const replace = async (proof: Proof) => {
    setSecret((await call(api.POST('/projects/{id}/webhook-secret', { params, body: proof }))).secret);
    done(t.webhookReplaced);
  };
  return (
    <Section
      title={t.webhook}
      lead={t.webhookText}
      actions={
        <>
          <Button onClick={() => (secret ? setSecret(undefined) : void show())} aria-expanded={secret !== undefined}>
            {secret ? t.hide : t.show}
          </Button>
          {mayManage && <Button onClick={() => setAsking(true)}>{t.replaceWebhook}</Button>}
        </>
      }
    >
      <div aria-live="polite">
        {secret ? <Copyable text={secret} what={t.webhook} /> : <code className="font-mono text-meta text-muted">whsec_…</code>}
      </div>
      <ProvenConfirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.replaceWebhookQuestion}
        action={t.replaceWebhook}
        onConfirm={replace}
      >
        <p>{t.replaceWebhookText}</p>
      </ProvenConfirm>
    </Section>
  );
}
