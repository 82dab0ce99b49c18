import { useQuery } from '@tanstack/react-query';
import { ArrowLeft } from 'lucide';
import type { ReactNode } from 'react';
import { queries } from '#/api/query';
import { useParam } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Icon } from '#/ui/icon';
import { Facts, Page, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { Hits } from './Hits';
import { Inbound } from './Inbound';
import { MailFrame } from './MailFrame';
import { email, type EmailDetail, hasContent, isCaptured } from './queries';
import { TONES } from './status';
import { t } from './texts';
import { Timeline } from './Timeline';

const withName = (address: string, name: string | null | undefined) => (name ? `${name} <${address}>` : address);

function factsOf(mail: EmailDetail): (readonly [string, ReactNode])[] {
  const rows: (readonly [string, ReactNode])[] = [
    [
      t.recipient,
      mail.contactId && !mail.inbound ? (
        <TextLink key="to" to={`/contacts/${mail.contactId}`}>{withName(mail.to, mail.toName)}</TextLink>
      ) : (
        withName(mail.to, mail.toName)
      ),
    ],
    [
      t.sender,
      mail.contactId && mail.inbound ? (
        <TextLink key="from" to={`/contacts/${mail.contactId}`}>{withName(mail.from, mail.fromName)}</TextLink>
      ) : (
        withName(mail.from, mail.fromName)
      ),
    ],
  ];
  if (mail.replyTo && mail.replyTo !== mail.from) rows.push([t.replyTo, mail.replyTo]);
  rows.push([
    t.source,
    <span key="source" className="flex flex-wrap gap-x-4">
      {t.sources[mail.sourceType]}
      {mail.campaignId && <TextLink to={`/campaigns/${mail.campaignId}`}>{t.openCampaign}</TextLink>}
      {mail.templateId && <TextLink to={`/templates/${mail.templateId}`}>{t.openTemplate}</TextLink>}
    </span>,
  ]);
  if (!mail.inbound) {
    const said = (opens: number, clicks: number) =>
      `${opens > 0 ? t.opened(opens) : t.neverOpened}, ${clicks > 0 ? t.clicked(clicks) : t.neverClicked}`;
    rows.push([t.people, said(mail.opens, mail.clicks)], [t.machines, said(mail.machineOpens, mail.machineClicks)]);
  }
  rows.push(
    [t.messageId, <Copyable key="message" text={mail.messageId} what={t.messageId} />],
    [t.emailId, <Copyable key="id" text={mail.id} what={t.emailId} />],
  );
  return rows;
}

/** How a mail stands, and why, in words. */
function State({ mail }: { mail: EmailDetail }) {
  const reason = mail.reason ? (t.reasons[mail.reason] ?? mail.reason) : undefined;
  return (
    <Banner tone={TONES[mail.status]}>
      <p className="font-medium">
        <Status tone={TONES[mail.status]}>{t.statuses[mail.status]}</Status>
      </p>
      <p>{mail.status === 'SENT' && mail.attempts.at(-1)?.host === 'capture' ? t.meaningCaptured : t.meanings[mail.status]}</p>
      {reason && <p>{reason}</p>}
      {mail.suppression && (
        <p>
          {t.suppressedBy}: {mail.suppression.name} ({mail.suppression.pattern})
        </p>
      )}
      {mail.error && <p className="mt-1 font-mono text-meta break-words">{mail.error}</p>}
    </Banner>
  );
}

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(email(id));

/** A mail: how it stands, what happened to it, and who opened it. */
export default function EmailPage() {
  const id = useParam('id');
  const mail = useQuery(email(id));
  const sent = mail.data?.attempts.at(-1)?.host === 'capture';
  const captured = useQuery({ ...isCaptured(id), enabled: sent });
  const content = useQuery({ ...hasContent(id), enabled: mail.isSuccess });
  const data = mail.data;
  return (
    <Page
      title={data ? data.subject || t.noSubject : '…'}
      above={
        <TextLink to="/emails" className="inline-flex items-center gap-1 text-meta">
          <Icon of={ArrowLeft} size={12} />
          {t.back}
        </TextLink>
      }
      actions={captured.data && <LinkButton to={`/mailbox/${id}`}>{t.readCaptured}</LinkButton>}
    >
      {mail.error && !data && <Problem error={mail.error} onRetry={() => void mail.refetch()} />}
      {mail.isPending && <Skeleton rows={9} />}
      {data && (
        <>
          <State mail={data} />
          {data.inbound && <Inbound id={id} inbound={data.inbound} />}
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <Section title={t.timeline}>
              <Timeline mail={data} />
            </Section>
            <Section title={t.facts}>
              <Facts rows={factsOf(data)} />
            </Section>
          </div>
          {content.data && (
            <Section title={t.content}>
              <div className="-m-4 overflow-hidden rounded-b-card">
                <MailFrame path={`/emails/${id}/html`} />
              </div>
            </Section>
          )}
          {!data.inbound && <Hits id={id} />}
        </>
      )}
    </Page>
  );
}
