import { useInfiniteQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, type Tone } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { LoadMore } from './LoadMore';
import { mails } from './queries';
import { t } from './texts';

type Mail = Schemas['EmailView'];

const TONES: Record<Mail['status'], Tone> = {
  PENDING: 'muted',
  SENDING: 'accent',
  SENT: 'accent',
  DELIVERED: 'good',
  OPENED: 'good',
  CLICKED: 'good',
  BOUNCED: 'bad',
  COMPLAINED: 'bad',
  RECEIVED: 'accent',
  FAILED: 'bad',
  SKIPPED: 'warn',
  SUPPRESSED: 'warn',
  IN_DOUBT: 'warn',
};

/** Why a mail did not arrive, or is not on its way yet. */
function Why({ mail }: { mail: Mail }) {
  const words = [mail.error, mail.suppression && `${mail.suppression.name} (${mail.suppression.pattern})`].filter(Boolean);
  if (words.length === 0 && !mail.nextAttemptAt) return null;
  return (
    <p className="text-meta break-words text-muted">
      {words.join(' · ')}
      {mail.nextAttemptAt && mail.attemptCount > 0 && (
        <>
          {words.length > 0 && ' · '}
          {t.nextAttempt} <Time at={mail.nextAttemptAt} />
        </>
      )}
    </p>
  );
}

const COLUMNS: readonly Column<Mail>[] = [
  {
    name: t.subject,
    cell: (mail) => (
      <>
        <TextLink to={`/emails/${mail.id}`} className="break-words">
          {mail.subject || t.noSubject}
        </TextLink>
        <Why mail={mail} />
      </>
    ),
  },
  { name: t.status, cell: (mail) => <Status tone={TONES[mail.status]}>{t.statuses[mail.status]}</Status> },
  { name: t.source, wideOnly: true, cell: (mail) => t.sources[mail.sourceType] },
  { name: t.at, right: true, cell: (mail) => <Time at={mail.sentAt ?? mail.createdAt} /> },
];

/** The mails to and from a contact, what became of them, and why. */
export function Mails({ contact }: { contact: string }) {
  const found = useInfiniteQuery(mails(contact));
  if (found.error && !found.data) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={6} />;
  const rows = found.data.pages.flatMap((page) => page.data);
  if (rows.length === 0) return <Empty title={t.noMails}>{t.noMailsText}</Empty>;
  return (
    <Section title={t.mails}>
      <Table label={t.mails} columns={COLUMNS} rows={rows} rowKey={(mail) => mail.id} />
      <LoadMore of={found} />
    </Section>
  );
}
