import { useQuery } from '@tanstack/react-query';
import { serviceUrl } from '#/api/base';
import { domains } from '#/features/domain/queries';
import { useFreshSecret } from '#/features/key/fresh';
import { keys } from '#/features/key/queries';
import { CodeExample } from '#/features/onboarding/CodeExample';
import { useProject } from '#/features/project/open';
import { config } from '#/features/user/queries';
import { AnchorButton, TextLink } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Facts, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { t } from './texts';

/** What stands in code for keys that are not known. */
const SECRET = 'sk_...';
const PUBLIC = 'pk_...';

/** What a program needs to talk to the project: addresses, ids, keys, and code to begin with. */
export default function ApiTab() {
  const project = useProject();
  const instance = useQuery(config);
  const all = useQuery(keys(project.id));
  const own = useQuery(domains());
  const secret = useFreshSecret(project.id);
  if (instance.error && !instance.data) {
    return <Problem error={instance.error} onRetry={() => void instance.refetch()} />;
  }
  // the code holds the domain: it does not change under the eyes of who reads it
  if (!instance.data || own.isLoading) return <Skeleton rows={8} />;
  const { urls, features } = instance.data;
  const url = urls.api.replace(/\/$/, '');
  const hint = all.data?.find((key) => key.kind === 'secret' && !key.name)?.hint;
  const domain = own.data?.find((one) => one.verified)?.domain ?? 'example.com';
  const send = {
    to: 'ada@example.org',
    from: `hello@${domain}`,
    subject: 'Hello {{name}}',
    body: '<p>Hello {{name}}</p>',
    data: { name: 'Ada' },
  };
  const track = { email: 'ada@example.org', event: 'signup', data: { plan: 'pro' } };
  return (
    <>
      <Section
        title={t.addresses}
        lead={t.addressesText}
        actions={
          <>
            <AnchorButton href={serviceUrl('/docs')} target="_blank" rel="noreferrer">
              {t.reference}
            </AnchorButton>
            <AnchorButton href={serviceUrl('/openapi.json')} target="_blank" rel="noreferrer">
              {t.document}
            </AnchorButton>
          </>
        }
      >
        <Facts
          rows={[
            [t.baseUrl, <Copyable key="url" text={url} what={t.baseUrl} />],
            [t.projectId, <Copyable key="id" text={project.id} what={t.projectId} />],
            [
              t.publicKey,
              <div key="public">
                {project.public && <Copyable text={project.public} what={t.publicKey} />}
                <p className="text-meta text-muted">{t.publicKeyHint}</p>
              </div>,
            ],
            [
              t.secretKey,
              <span key="secret">
                {hint && <>{t.secretKeyText(hint)} </>}
                <TextLink to="/settings" search={{ tab: 'keys' }}>
                  {t.manageKeys}
                </TextLink>
              </span>,
            ],
          ]}
        />
      </Section>
      <Section title={t.send} lead={t.sendText}>
        <CodeExample example={{ api: url, path: '/v1/send', key: secret ?? SECRET, body: send }} />
      </Section>
      <Section title={t.track} lead={t.trackText}>
        <CodeExample example={{ api: url, path: '/v1/track', key: project.public ?? PUBLIC, body: track }} />
      </Section>
      <Section title={t.smtp}>
        <p>{features.smtp.enabled ? t.smtpOn : t.smtpOff}</p>
        {!features.smtp.enabled && <p className="mt-1 text-muted">{t.smtpOffText}</p>}
      </Section>
    </>
  );
}
