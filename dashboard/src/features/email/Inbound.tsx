import { Download } from 'lucide';
import { download } from '#/api/client';
import { bytes } from '#/i18n/format';
import { Button, TextLink } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Facts, Section } from '#/ui/page';
import { Status, type Tone } from '#/ui/status';
import { failed } from '#/ui/toast';
import type { EmailDetail } from './queries';
import { t } from './texts';

const VERDICTS: Record<string, Tone> = { PASS: 'good', FAIL: 'bad' };

function Verdict({ name, verdict }: { name: string; verdict: string | null | undefined }) {
  if (!verdict) return null;
  return (
    <Status tone={VERDICTS[verdict] ?? 'muted'}>
      {name} {t.verdicts[verdict] ?? verdict}
    </Status>
  );
}

/** What is known of a mail that came in: who wrote it, what it says, and its files. */
export function Inbound({ id, inbound }: { id: string; inbound: NonNullable<EmailDetail['inbound']> }) {
  const { verdicts, attachments } = inbound;
  return (
    <>
      <Section
        title={t.content}
        actions={
          <Button size="small" onClick={() => download(`/emails/${id}/raw`, `${id}.eml`).catch(failed)}>
            <Icon of={Download} size={14} />
            {t.raw}
          </Button>
        }
      >
        <div className="space-y-4">
          {inbound.text && <pre className="font-sans break-words whitespace-pre-wrap">{inbound.text}</pre>}
          {attachments.length > 0 && (
            <ul aria-label={t.attachments} className="flex flex-wrap gap-2">
              {attachments.map((file, index) => {
                const name = file.filename ?? t.unnamed;
                return (
                  // oxlint-disable-next-line react/no-array-index-key -- its place is its id
                  <li key={index}>
                    <Button
                      size="small"
                      aria-label={`${t.download}: ${name}`}
                      onClick={() => download(`/emails/${id}/attachments/${index}`, name).catch(failed)}
                    >
                      <Icon of={Download} size={14} />
                      <span className="max-w-48 truncate">{name}</span>
                      <span className="text-muted">{bytes(file.size)}</span>
                    </Button>
                  </li>
                );
              })}
            </ul>
          )}
        </div>
      </Section>
      <Section title={t.checks}>
        <Facts
          rows={[
            [t.from, inbound.fromHeader],
            [t.to, inbound.recipients.join(', ')],
            ...(inbound.inReplyTo
              ? ([[t.inReplyTo, <TextLink key="reply" to={`/emails/${inbound.inReplyTo}`}>{t.itsMail}</TextLink>]] as const)
              : []),
            [
              t.checks,
              <span key="checks" className="flex flex-wrap gap-x-4 gap-y-1">
                <span>{inbound.isSenderVerified ? t.senderVerified : t.senderUnverified}</span>
                <Verdict name="SPF" verdict={verdicts.spfVerdict} />
                <Verdict name="DKIM" verdict={verdicts.dkimVerdict} />
                <Verdict name="DMARC" verdict={verdicts.dmarcVerdict} />
                <Verdict name="Spam" verdict={verdicts.spamVerdict} />
                <Verdict name="Virus" verdict={verdicts.virusVerdict} />
              </span>,
            ],
            ...(inbound.isAutomatic ? ([[t.source, t.automatic]] as const) : []),
            [t.size, bytes(inbound.size)],
          ]}
        />
      </Section>
    </>
  );
}
