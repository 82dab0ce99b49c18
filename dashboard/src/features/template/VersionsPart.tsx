import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { bytes, number as count } from '#/i18n/format';
import { useSearchState, whole } from '#/router';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import { Saver } from './Saver';
import { t } from './texts';
import { VersionCompare } from './VersionCompare';
import { type Current, type VersionSource, versions } from './versions';

/** The version that is compared is in the address; 0 is none. */
const SEARCH = { version: whole(0) };

/** The former versions of a template or a campaign: compared with the current one, and restored. */
export function VersionsPart<T extends Current>({ stored, source, isDirty, canRestore = true, onRestored }: {
  stored: T;
  source: VersionSource<T>;
  isDirty: boolean;
  canRestore?: boolean;
  onRestored: (restored: T) => void;
}) {
  const [search, setSearch] = useSearchState(SEARCH);
  const [restoring, setRestoring] = useState<number>();
  const list = useQuery(versions(source, stored.id));
  const restore = async (number: number) => {
    onRestored(await source.restore(stored.id, number));
    done(t.restored);
    setSearch({ version: 0 });
  };
  const confirm = restoring !== undefined && (
    <Confirm
      open
      onClose={() => setRestoring(undefined)}
      title={t.restoreTitle(restoring)}
      action={t.restore}
      danger={isDirty}
      onConfirm={() => restore(restoring)}
    >
      <p>{t.restoreText}</p>
      {isDirty && <p className="font-medium text-bad">{t.restoreUnsaved}</p>}
    </Confirm>
  );
  if (search.version > 0) {
    return (
      <>
        <VersionCompare
          stored={stored}
          source={source}
          number={search.version}
          onClose={() => setSearch({ version: 0 })}
          {...(canRestore ? { onRestore: () => setRestoring(search.version) } : {})}
        />
        {confirm}
      </>
    );
  }
  if (list.error) return <Problem error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Skeleton rows={5} />;
  if (list.data.data.length === 0) return <Empty title={t.noVersions}>{t.noVersionsText}</Empty>;
  return (
    <div className="rounded-card border border-line bg-panel px-3">
      <Table
        label={t.tabs.versions}
        rows={list.data.data}
        rowKey={(row) => String(row.number)}
        columns={[
          { name: t.version, cell: (row) => <span className="tabular">{count(row.number)}</span> },
          { name: t.savedOn, cell: (row) => <Time at={row.createdAt} /> },
          { name: t.who, cell: (row) => <Saver by={row.createdBy ?? undefined} plain />, wideOnly: true },
          { name: t.subject, cell: (row) => <span className="line-clamp-1 break-all">{row.subject}</span>, wideOnly: true },
          { name: t.size, cell: (row) => bytes(row.size), right: true, wideOnly: true },
          {
            name: t.actions,
            hideName: true,
            right: true,
            cell: (row) => (
              <span className="flex flex-wrap justify-end gap-2">
                <Button size="small" aria-label={t.compareWith(row.number)} onClick={() => setSearch({ version: row.number })}>
                  {t.compare}
                </Button>
                {canRestore && (
                  <Button size="small" aria-label={t.restoreThis(row.number)} onClick={() => setRestoring(row.number)}>
                    {t.restore}
                  </Button>
                )}
              </span>
            ),
          },
        ]}
      />
      {confirm}
    </div>
  );
}
