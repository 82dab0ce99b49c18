import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { LinkButton } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { sites } from './queries';
import { t } from './texts';

type Site = Schemas['SiteView'];

/** Why the mails to a domain wait: in words, and as the mail server said it. */
function Why({ site }: { site: Site }) {
  const reply = site.lastReply;
  const answer = reply ? [reply.code, reply.text].filter(Boolean).join(' ') : '';
  return (
    <div className="max-w-md min-w-40">
      <p className={site.why ? undefined : 'text-muted'}>{site.why ?? t.turn}</p>
      {answer && answer !== site.why && <p className="font-mono text-meta break-words text-muted">{answer}</p>}
    </div>
  );
}

/** What waits by the domain of its recipients and by lane, and what is wrong with the mail server. */
export function Sites() {
  const { data, error, isPending, refetch } = useQuery(sites());
  return (
    <>
      {data?.trouble && <Banner tone="bad">{t.trouble[data.trouble] ?? data.trouble}</Banner>}
      <Section
        title={t.sites}
        lead={t.sitesText}
        actions={
          data &&
          data.sites.length > 0 && (
            <LinkButton to="/emails" search={{ status: 'PENDING' }} size="small">
              {t.showWaiting}
            </LinkButton>
          )
        }
      >
        {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
        {isPending && <Skeleton rows={3} />}
        {data && (
          <div className="space-y-3">
            {data.sites.length === 0 ? (
              <p className="text-muted">{t.nothingWaits}</p>
            ) : (
              <Table
                label={t.sites}
                rows={data.sites}
                rowKey={(site) => site.domain}
                columns={[
                  { name: t.domain, cell: (site) => <span className="block max-w-60 truncate font-medium">{site.domain}</span> },
                  { name: t.mails, right: true, cell: (site) => number(site.waiting) },
                  { name: t.deferred, right: true, wideOnly: true, cell: (site) => number(site.deferred) },
                  { name: t.why, cell: (site) => <Why site={site} /> },
                  { name: t.since, right: true, wideOnly: true, cell: (site) => <Time at={site.oldestWaitingAt} /> },
                  { name: t.nextAttempt, right: true, cell: (site) => <Time at={site.backedOffUntil ?? site.nextAttemptAt} /> },
                ]}
              />
            )}
            {data.isEstimate && <p className="text-meta text-muted">{t.estimate}</p>}
            <p className="flex flex-wrap gap-x-4 gap-y-1 border-t border-line pt-3 text-meta text-muted">
              <span>{t.lanesText}</span>
              {data.lanes.map((lane) => (
                <span key={lane.lane} className="tabular">
                  {t.lanes[lane.lane] ?? lane.lane} <strong className="font-medium text-ink">{number(lane.waiting)}</strong>
                </span>
              ))}
              {typeof data.perSecond === 'number' && <span>{t.perSecond(number(data.perSecond))}</span>}
            </p>
          </div>
        )}
      </Section>
    </>
  );
}
