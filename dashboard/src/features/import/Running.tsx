import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide';
import { useEffect } from 'react';
import { download } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { number } from '#/i18n/format';
import { Button, LinkButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Figure, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { failed } from '#/ui/toast';
import { Words } from '#/ui/words';
import { type ImportJob, importJob, isOver } from './queries';
import { t } from './texts';

/** How far an import is, and what came of it. */
export function Running({ id, onAgain }: { id: string; onAgain: () => void }) {
  const { data: job, error, refetch } = useQuery(importJob(id));
  const over = job !== undefined && isOver(job);
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: projectKey('imports'), exact: true });
    if (!over) return;
    void queries.invalidateQueries({ queryKey: projectKey('contacts') });
    void queries.invalidateQueries({ queryKey: projectKey('segments') });
  }, [over]);
  if (error && !job) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!job) return <Skeleton />;
  if (!over) {
    return (
      <Section title={t.running} lead={t.mayLeave}>
        <div className="space-y-2">
          <Progress value={job.progress} label={t.progress} />
          <p role="status" className="tabular text-muted">
            {job.state === 'active' ? `${job.progress} %` : job.state === 'delayed' ? t.delayed : t.waiting}
          </p>
        </div>
      </Section>
    );
  }
  return (
    <>
      {job.result ? (
        <Result id={id} result={job.result} />
      ) : (
        <Banner tone="bad">
          <p role="status" className="font-medium">
            {t.failed}
          </p>
          <p>
            <Words text={job.failedReason ?? ''} />
          </p>
        </Banner>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onAgain}>{t.again}</Button>
        <LinkButton to="/contacts" variant="primary">
          {t.showContacts}
        </LinkButton>
      </div>
    </>
  );
}

type ImportResult = NonNullable<ImportJob['result']>;
type Failure = ImportResult['errors'][number];

const COLUMNS: readonly Column<Failure>[] = [
  { name: t.row, right: true, cell: (one) => number(one.row) },
  { name: t.address, cell: (one) => <span className="break-all">{one.email || t.noAddress}</span> },
  { name: t.reason, cell: (one) => <Words text={one.error} /> },
];

function Result({ id, result }: { id: string; result: ImportResult }) {
  return (
    <>
      <p role="status" className="text-section font-semibold">
        {t.done}
      </p>
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Figure name={t.rows} value={number(result.totalRows)} />
        <Figure name={t.created} value={number(result.createdCount)} />
        <Figure name={t.updated} value={number(result.updatedCount)} />
        <Figure name={t.failures} value={number(result.failureCount)} />
      </div>
      {result.errors.length > 0 && (
        <Section
          title={t.errors}
          lead={result.errors.length < result.failureCount ? t.errorsLead(result.errors.length) : undefined}
          actions={
            <Button size="small" onClick={() => void download(`/contacts/import/${id}/errors`, 'import-errors.csv').catch(failed)}>
              <Icon of={Download} size={14} />
              {t.downloadErrors}
            </Button>
          }
        >
          <div className="max-h-120 overflow-y-auto">
            <Table label={t.errors} columns={COLUMNS} rows={result.errors} rowKey={(one) => String(one.row)} />
          </div>
        </Section>
      )}
    </>
  );
}
