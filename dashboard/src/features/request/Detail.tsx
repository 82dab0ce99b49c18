import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { serviceUrl } from '#/api/base';
import { useProject } from '#/features/project/open';
import { duration, moment } from '#/i18n/format';
import { AnchorButton, Button } from '#/ui/button';
import { Copyable } from '#/ui/copy';
import { Dialog } from '#/ui/dialog';
import { Facts } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { keys, type LoggedRequest, request } from './queries';
import { toneOf } from './status';
import { t } from './texts';

/** Who made a request: a key by its name, or a person. */
function Maker({ row }: { row: LoggedRequest }) {
  const known = useQuery(keys(useProject().id));
  if (!row.keyId) return <>{t.person}</>;
  const key = known.data?.find((one) => one.id === row.keyId);
  return <>{key ? (key.name ?? key.hint ?? key.kind) : t.removedKey}</>;
}

/** A request of the log, with its id to copy, and ways to its like. */
export function Detail({ id, onClose, onFilter }: { id: string; onClose: () => void; onFilter: (filter: Record<string, string>) => void }) {
  const { data, error, refetch } = useQuery(request(id));
  const rows: (readonly [string, ReactNode])[] = data
    ? [
        [t.status, <Status key="status" tone={toneOf(data.status)}>{[data.status, data.code].filter(Boolean).join(' ')}</Status>],
        [t.when, moment(data.createdAt)],
        [t.path, <code key="path" className="font-mono text-meta break-all">{`${data.method} ${data.path}`}</code>],
        [t.route, <code key="route" className="font-mono text-meta break-all">{data.route}</code>],
        [t.requestId, <Copyable key="request" text={data.requestId} what={t.requestId} />],
        [t.by, <Maker key="by" row={data} />],
        [t.duration, duration(data.durationMs)],
        [t.address, data.address ?? <span key="address" className="text-muted">{t.notKept}</span>],
      ]
    : [];
  return (
    <Dialog open onClose={onClose} title={t.detail} description={t.copyLink}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={6} />}
      {data && (
        <div className="space-y-4">
          <Facts rows={rows} />
          <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
            <span className="text-muted">{t.more}</span>
            <Button size="small" onClick={() => onFilter({ route: data.route })}>
              {t.sameRoute}
            </Button>
            {data.code && (
              <Button size="small" onClick={() => onFilter({ code: data.code ?? '' })}>
                {t.sameCode}
              </Button>
            )}
            {data.keyId && (
              <Button size="small" onClick={() => onFilter({ key: data.keyId ?? '' })}>
                {t.sameKey}
              </Button>
            )}
            <AnchorButton size="small" variant="ghost" href={serviceUrl('/docs')} target="_blank" rel="noreferrer">
              {t.reference}
            </AnchorButton>
          </div>
        </div>
      )}
    </Dialog>
  );
}
