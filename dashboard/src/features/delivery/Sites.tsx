import { useQuery } from '@tanstack/react-query';
import { Ellipsis } from 'lucide';
import { useState } from 'react';
import { useIsAdmin } from '#/features/project/open';
import { number } from '#/i18n/format';
import { Button, IconButton, LinkButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Menu, type MenuEntry } from '#/ui/menu';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { type Intervention, interventions, type Site, sites } from './queries';
import { pausesOf, type Scope, type Wish, wishesFor } from './scope';
import { t } from './texts';
import { Wished } from './Wished';

/** Why the mails to a domain wait: in words, and as the mail server said it. What is paused waits for that first. */
function Why({ site, pauses }: { site: Site; pauses: readonly Intervention[] }) {
  const reply = site.lastReply;
  const answer = reply ? [reply.code, reply.text].filter(Boolean).join(' ') : '';
  const why = pauses.length > 0 ? t.pausedWhy : site.why;
  return (
    <div className="max-w-md min-w-40">
      <p className={why ? undefined : 'text-muted'}>{why ?? t.turn}</p>
      {pauses.map(({ id, reason }) => reason && <p key={id} className="break-words text-muted">{reason}</p>)}
      {answer && answer !== why && <p className="font-mono text-meta break-words text-muted">{answer}</p>}
    </div>
  );
}

/** The columns: rates and connections only where some row has them. */
function columnsOf(rows: readonly Site[], all: readonly Intervention[]): Column<Site>[] {
  const pauses = (site: Site) => pausesOf(all, site);
  const rate: Column<Site> = {
    name: t.perMinute,
    right: true,
    wideOnly: true,
    cell: (site) => (site.perMinute == null ? '–' : number(site.perMinute)),
  };
  const connections: Column<Site> = {
    name: t.connections,
    right: true,
    wideOnly: true,
    cell: (site) => (site.connections == null ? '–' : number(site.connections)),
  };
  return [
    {
      name: t.domain,
      cell: (site) => (
        <div className="max-w-60">
          <span className="block truncate font-medium">{site.domain}</span>
          {site.site && site.site !== site.domain && <span className="block truncate text-meta text-muted">{site.site}</span>}
          {pauses(site).length > 0 && (
            <span className="text-meta">
              <Status tone="warn">{t.kinds.PAUSE}</Status>
            </span>
          )}
        </div>
      ),
    },
    { name: t.mails, right: true, cell: (site) => number(site.waiting) },
    { name: t.deferred, right: true, wideOnly: true, cell: (site) => number(site.deferred) },
    { name: t.why, cell: (site) => <Why site={site} pauses={pauses(site)} /> },
    ...(rows.some((site) => site.perMinute != null) ? [rate] : []),
    ...(rows.some((site) => site.connections != null) ? [connections] : []),
    { name: t.since, right: true, wideOnly: true, cell: (site) => <Time at={site.oldestWaitingAt} /> },
    {
      name: t.nextAttempt,
      right: true,
      // what is paused has a time too, at which it is looked at again
      cell: (site) => (pauses(site).length > 0 ? '–' : <Time at={site.backedOffUntil ?? site.nextAttemptAt} />),
    },
  ];
}

/** A menu with what can be wished of the mail to a domain, and of that to the site that takes it. */
function Actions({ of: { domain, site }, all, onWish }: {
  of: Site;
  all: readonly Intervention[];
  onWish: (wish: Wish<Intervention>) => void;
}) {
  const names = { pause: t.pause, expire: t.expire, end: t.resume };
  const scopes: Scope[] = site ? [{ domain }, { site }] : [{ domain }];
  const entries = scopes.flatMap((scope) =>
    wishesFor(all, scope).map((wish): MenuEntry => ({
      text: site ? `${names[wish.what]}: ${t.mailOf(scope)}` : names[wish.what],
      danger: wish.what === 'expire',
      onSelect: () => onWish(wish),
    })),
  );
  const trigger = (
    <IconButton label={t.actionsFor(domain)} size="small">
      <Icon of={Ellipsis} size={16} />
    </IconButton>
  );
  return <Menu trigger={trigger} entries={entries} />;
}

/** What waits by the domain of its recipients and by lane, and what is wrong with the mail server. */
export function Sites() {
  const { data, error, isPending, refetch } = useQuery(sites());
  const all = useQuery(interventions()).data ?? [];
  const isAdmin = useIsAdmin();
  const [wish, setWish] = useState<Wish<Intervention>>();
  const rows = data?.sites ?? [];
  const columns = columnsOf(rows, all);
  if (isAdmin) {
    columns.push({
      name: t.actions,
      hideName: true,
      right: true,
      cell: (site) => <Actions of={site} all={all} onWish={setWish} />,
    });
  }
  return (
    <>
      {data?.trouble && <Banner tone="bad">{t.trouble[data.trouble] ?? data.trouble}</Banner>}
      <Section
        title={t.sites}
        lead={rows.some((site) => site.site) ? t.sitesDirect : t.sitesText}
        actions={
          data && (
            <>
              {rows.length > 0 && (
                <LinkButton to="/emails" search={{ status: 'PENDING' }} size="small">
                  {t.showWaiting}
                </LinkButton>
              )}
              {isAdmin &&
                wishesFor(all, {}).map((one) => (
                  <Button key={one.what} size="small" onClick={() => setWish(one)}>
                    {t.forAll[one.what]}
                  </Button>
                ))}
            </>
          )
        }
      >
        {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
        {isPending && <Skeleton rows={3} />}
        {data && (
          <div className="space-y-3">
            {rows.length === 0 ? (
              <p className="text-muted">{t.nothingWaits}</p>
            ) : (
              <Table label={t.sites} rows={rows} rowKey={(site) => site.domain} columns={columns} />
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
        {wish && <Wished wish={wish} onClose={() => setWish(undefined)} />}
      </Section>
    </>
  );
}
