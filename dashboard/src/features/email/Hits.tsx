import { useInfiniteQuery } from '@tanstack/react-query';
import { moment } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, type Tone } from '#/ui/status';
import { Table } from '#/ui/table';
import { hits } from './queries';
import { t } from './texts';
import { whyText } from './why';

const TONES: Record<keyof typeof t.classes, Tone> = { human: 'good', proxy: 'muted', scanner: 'warn' };

/** The opens and clicks of a mail, one by one. */
export function Hits({ id }: { id: string }) {
  const list = useInfiniteQuery(hits(id));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Section title={t.hits} lead={t.hitsLead}>
      {list.error && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton rows={3} />}
      {list.isSuccess && rows.length === 0 && <p className="text-muted">{t.hitsEmpty}</p>}
      {rows.length > 0 && (
        <Table
          label={t.hits}
          rows={rows}
          rowKey={(hit) => hit.id}
          columns={[
            { name: t.when, cell: (hit) => <span className="whitespace-nowrap">{moment(hit.at)}</span> },
            { name: t.hits, cell: (hit) => t.hit[hit.type] ?? hit.type },
            {
              name: t.who,
              cell: (hit) =>
                hit.class ? <Status tone={TONES[hit.class]}>{t.classes[hit.class]}</Status> : <span className="text-muted">{t.judging}</span>,
            },
            { name: t.why, wideOnly: true, cell: (hit) => <span className="block max-w-72 min-w-40">{whyText(hit)}</span> },
            { name: t.target, cell: (hit) => <span className="block max-w-60 break-all">{hit.url}</span> },
            {
              name: t.client,
              wideOnly: true,
              cell: (hit) => (
                <span className="block max-w-52 truncate text-meta text-muted" title={hit.userAgent}>
                  {[hit.ip, hit.userAgent].filter(Boolean).join(' ')}
                </span>
              ),
            },
          ]}
        />
      )}
      {list.hasNextPage && (
        <Button className="mt-3" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t.more}
        </Button>
      )}
    </Section>
  );
}
