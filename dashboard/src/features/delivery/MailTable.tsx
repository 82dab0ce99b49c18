import { useQuery } from '@tanstack/react-query';
import { type Email, emailsIn, type EmailStatus } from '#/features/email/queries';
import { number } from '#/i18n/format';
import { LinkButton, TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { t } from './texts';

/** How many mails are shown of each state. */
const SHOWN = 8;

const SUBJECT: Column<Email> = {
  name: t.mail,
  cell: (mail) => (
    <div className="max-w-72 min-w-40">
      <TextLink to={`/emails/${mail.id}`} className="block truncate">
        {mail.subject || t.noSubject}
      </TextLink>
      <span className="block truncate text-meta text-muted">{mail.to}</span>
    </div>
  ),
};
const WHY: Column<Email> = {
  name: t.why,
  cell: (mail) =>
    mail.error ? (
      <span className="block max-w-md min-w-40 font-mono text-meta break-words">{mail.error}</span>
    ) : (
      <span className="text-muted">{t.notTried}</span>
    ),
};
const ATTEMPTS: Column<Email> = { name: t.attempts, right: true, wideOnly: true, cell: (mail) => number(mail.attemptCount) };
const NEXT: Column<Email> = { name: t.next, right: true, cell: (mail) => (mail.nextAttemptAt ? <Time at={mail.nextAttemptAt} /> : '–') };

/** The newest mails in a state, each with its reason. Without any, `empty` is said, or nothing at all. */
export function MailTable({ status, title, lead, empty }: { status: EmailStatus; title: string; lead: string; empty?: string }) {
  const mails = useQuery(emailsIn({ status }, SHOWN));
  if (mails.data?.data.length === 0 && !empty) return null;
  if (mails.isPending && !empty) return null;
  const columns = status === 'PENDING' ? [SUBJECT, WHY, ATTEMPTS, NEXT] : [SUBJECT, WHY, ATTEMPTS];
  return (
    <Section
      title={title}
      lead={lead}
      actions={
        mails.data &&
        mails.data.total > 0 && (
          <LinkButton to="/emails" search={{ status }} size="small">
            {t.all(mails.data.total)}
          </LinkButton>
        )
      }
    >
      {mails.error && !mails.data && <Problem error={mails.error} onRetry={() => void mails.refetch()} />}
      {mails.isPending && <Skeleton rows={3} />}
      {mails.data &&
        (mails.data.data.length === 0 ? (
          <p className="text-muted">{empty}</p>
        ) : (
          <Table label={title} rows={mails.data.data} rowKey={(mail) => mail.id} columns={columns} />
        ))}
    </Section>
  );
}
