import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { MailFrame } from '#/features/email/MailFrame';
import { number } from '#/i18n/format';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Table } from '#/ui/table';
import { links } from './queries';
import { t } from './texts';

type LinkView = Schemas['LinkView'];

/** The heat map: which links of the mail were followed, and how often. */
export function Links({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(links(id));
  const most = Math.max(1, ...(data ?? []).map((link) => link.uniqueClicks));
  return (
    <Section title={t.links} lead={t.linksText}>
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : data.length === 0 ? (
        <p className="text-muted">{t.noLinks}</p>
      ) : (
        <>
          <div className="mb-4 overflow-hidden rounded-control border border-line">
            <MailFrame path={`/campaigns/${id}/heat`} title={t.heatMap} />
          </div>
          <Table
            label={t.links}
            rows={data}
            rowKey={(link) => `${link.position} ${link.url ?? link.source ?? ''}`}
            columns={[
              { name: t.link, cell: (link) => <LinkName link={link} heat={link.uniqueClicks / most} /> },
              { name: t.people, right: true, cell: (link) => number(link.uniqueClicks) },
              { name: t.clicks, right: true, cell: (link) => number(link.clicks) },
              { name: t.byMachines, right: true, wideOnly: true, cell: (link) => number(link.machineClicks) },
            ]}
          />
        </>
      )}
    </Section>
  );
}

function LinkName({ link, heat }: { link: LinkView; heat: number }) {
  return (
    <div className="relative min-w-32 rounded px-2 py-1">
      <div
        aria-hidden
        className="absolute inset-y-0 left-0 rounded bg-accent-soft"
        style={{ width: `${Math.round(heat * 100)}%` }}
      />
      <div className="relative">
        <p className="font-medium break-words">{link.text || link.url}</p>
        <p className="font-mono text-meta break-all text-muted">{link.url ?? link.source ?? t.varies}</p>
      </div>
    </div>
  );
}
