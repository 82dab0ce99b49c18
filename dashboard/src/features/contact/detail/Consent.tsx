import { useInfiniteQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { day } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { LoadMore } from './LoadMore';
import { consent } from './queries';
import { t } from './texts';
import { Topics } from './Topics';

type Entry = Schemas['CursorPage_ConsentView']['data'][number];

const COLUMNS: readonly Column<Entry>[] = [
  {
    name: t.change,
    cell: (one) => (
      <>
        {t.changes[one.change]}
        {one.topic && <span className="font-medium"> {one.topic}</span>}
      </>
    ),
  },
  {
    name: t.way,
    cell: (one) => (
      <>
        {t.ways[one.way]}
        {one.emailId && (
          <>
            {' · '}
            <TextLink to={`/emails/${one.emailId}`}>{t.viaMail}</TextLink>
          </>
        )}
        {one.language && ` · ${t.language} ${one.language}`}
        {one.ip && ` · ${t.ip} ${one.ip}`}
      </>
    ),
  },
  { name: t.at, right: true, cell: (one) => <Time at={one.at} /> },
];

/** What a contact agreed to, and how that is known. */
export function Consent({ contact }: { contact: string }) {
  const found = useInfiniteQuery(consent(contact));
  const pending = found.data?.pages[0]?.pending ?? [];
  const rows = found.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className="space-y-6">
      {pending.map((one) => (
        <Banner key={one.topicId ?? ''} tone="warn">
          <p className="font-medium">
            {t.pending} {one.topicId && t.forTopic}
          </p>
          <p>
            {[t.askedOn(day(one.requestedAt)), one.mailedAt ? '' : t.notMailed, t.until(day(one.expiresAt))].filter(Boolean).join(' · ')}
          </p>
        </Banner>
      ))}
      <Topics contact={contact} />
      <Section title={t.evidence} lead={t.evidenceLead}>
        {found.error && !found.data ? (
          <Problem error={found.error} onRetry={() => void found.refetch()} />
        ) : !found.data ? (
          <Skeleton />
        ) : rows.length === 0 ? (
          <p className="text-muted">{t.noEvidence}</p>
        ) : (
          <Table label={t.evidence} columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
        )}
        <LoadMore of={found} />
      </Section>
    </div>
  );
}
