import { useQuery } from '@tanstack/react-query';
import { Megaphone, Route as RouteIcon, Send, Upload } from 'lucide';
import type { IconNode } from 'lucide';
import { useState } from 'react';
import { api, call, currentProject } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { AddDomain } from '#/features/domain/AddDomain';
import { domains } from '#/features/domain/queries';
import { rememberSecret, useFreshSecret } from '#/features/key/fresh';
import { useIsAdmin, useProject } from '#/features/project/open';
import { config } from '#/features/user/queries';
import { Link } from '#/router';
import { Button, LinkButton, TextLink } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Form, SubmitButton } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Page, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { CodeExample } from './CodeExample';
import { t } from './texts';

/** How often the first mail is looked for, in milliseconds. */
const LOOK_MS = 2_000;
/** What stands in code for a key that is not known. */
const PLACEHOLDER = 'sk_...';

/** The first steps in a project, by what somebody wants to do. */
export default function OnboardingPage() {
  return (
    <Page title={t.title} lead={t.lead} actions={<LinkButton to="/">{t.toHome}</LinkButton>}>
      <FirstMail />
      <nav aria-label={t.goals}>
        <ul className="grid gap-3 sm:grid-cols-3">
          <Goal to="/contacts/import" icon={Upload} name={t.import} text={t.importText} />
          <Goal to="/campaigns/create" icon={Megaphone} name={t.campaign} text={t.campaignText} />
          <Goal to="/workflows" search={{ add: true }} icon={RouteIcon} name={t.workflow} text={t.workflowText} />
        </ul>
      </nav>
    </Page>
  );
}

function Goal({
  to,
  search,
  icon,
  name,
  text,
}: {
  to: string;
  search?: { add: boolean };
  icon: IconNode;
  name: string;
  text: string;
}) {
  return (
    <li>
      <Link
        to={to}
        search={search}
        className="flex h-full flex-col gap-1 rounded-card border border-line bg-panel p-4 hover:bg-raised"
      >
        <span className="flex items-center gap-2 font-semibold">
          <Icon of={icon} />
          {name}
        </span>
        <span className="text-muted">{text}</span>
      </Link>
    </li>
  );
}

function FirstMail() {
  const all = useQuery({
    ...domains(),
    refetchInterval: ({ state }) => (state.data?.some((one) => one.verified) ? false : LOOK_MS),
  });
  const sender = all.data?.find((one) => one.verified);
  return (
    <Section
      title={t.send}
      lead={
        <span className="inline-flex items-center gap-2">
          <Icon of={Send} size={14} />
          {t.sendText}
        </span>
      }
    >
      {sender ? (
        <FirstRequest domain={sender.domain} />
      ) : all.data ? (
        <SenderFirst pending={all.data[0]?.domain} />
      ) : all.error ? (
        <Problem error={all.error} onRetry={() => void all.refetch()} />
      ) : (
        <Skeleton rows={4} />
      )}
    </Section>
  );
}

/** The step before the code, in a project that may not send from anywhere: without a domain its request is refused. */
function SenderFirst({ pending }: { pending: string | undefined }) {
  const isAdmin = useIsAdmin();
  const [adding, setAdding] = useState(false);
  return (
    <div className="space-y-3">
      <h3 className="font-medium">{pending === undefined ? t.domainFirst : t.domainWaits(pending)}</h3>
      <p role="status" className="max-w-prose text-muted">
        {pending !== undefined ? t.domainWaitsText : isAdmin ? t.domainFirstText : t.domainAdmin}
      </p>
      {pending !== undefined ? (
        <TextLink to="/settings" search={{ tab: 'domains' }}>
          {t.toRecords}
        </TextLink>
      ) : (
        isAdmin && (
          <Button variant="primary" onClick={() => setAdding(true)}>
            {t.addDomain}
          </Button>
        )
      )}
      {adding && <AddDomain onClose={() => setAdding(false)} />}
    </div>
  );
}

function FirstRequest({ domain }: { domain: string }) {
  const project = useProject();
  const { data: instance } = useQuery(config);
  const secret = useFreshSecret(project.id);
  const example = {
    api: instance?.urls.api.replace(/\/$/, '') ?? location.origin,
    path: '/v1/send',
    key: secret ?? PLACEHOLDER,
    body: {
      to: 'ada@example.org',
      from: `hello@${domain}`,
      subject: 'Hello {{name}}',
      body: '<h1>Hello {{name}}</h1>',
      data: { name: 'Ada' },
    },
  };
  return (
    <div className="space-y-4">
      <SecretKey secret={secret} />
      <div className="space-y-1">
        <h3 className="font-medium">{t.run}</h3>
        <p className="text-muted">{t.runText}</p>
        <CodeExample example={example} />
      </div>
      <Arrival />
    </div>
  );
}

function SecretKey({ secret }: { secret: string | undefined }) {
  const isAdmin = useIsAdmin();
  if (secret) {
    return (
      <div className="space-y-1">
        <h3 className="font-medium">{t.keyTitle}</h3>
        <p className="text-muted">{t.keyText}</p>
        <Copyable text={secret} what={t.keyTitle} />
      </div>
    );
  }
  if (!isAdmin) return <p className="text-muted">{t.keyAdmin}</p>;
  const make = async () => {
    const id = currentProject();
    const made = await call(
      api.POST('/projects/{id}/keys', { params: { path: { id } }, body: { name: t.keyName, scopes: ['send'] } }),
    );
    if (made.key) rememberSecret(id, made.key);
    await queries.invalidateQueries({ queryKey: projectKey('keys') });
  };
  return (
    <Form onSubmit={make} className="flex flex-wrap items-center gap-3 space-y-0!">
      <SubmitButton>{t.makeKey}</SubmitButton>
      <p className="text-muted">{t.makeKeyText}</p>
    </Form>
  );
}

function Arrival() {
  const { data: first } = useQuery({
    queryKey: projectKey('emails', 'first'),
    queryFn: async ({ signal }) =>
      (await call(api.GET('/emails', { params: { query: { limit: 1 } }, signal }))).data[0] ?? null,
    refetchInterval: (query) => (query.state.data ? false : LOOK_MS),
  });
  return (
    <div role="status" className="flex flex-wrap items-center gap-3">
      {first ? (
        <>
          <Status tone="good">{t.arrived}</Status>
          <LinkButton to={`/emails/${first.id}`} size="small">
            {t.openMail}
          </LinkButton>
        </>
      ) : (
        <Status tone="muted">{t.waiting}</Status>
      )}
    </div>
  );
}
