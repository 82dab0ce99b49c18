import { useQuery } from '@tanstack/react-query';
import { Undo2, X } from 'lucide';
import { useEffect, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';
import { Button, IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Banner } from '#/ui/status';
import { failed } from '#/ui/toast';
import { t } from './texts';

/** How often a job is asked how far it is, in milliseconds. */
const ASK_MS = 500;

/** How far a bulk operation is, and what came of it. The address has its id, so it is there after a reload. */
export function BulkJob({ id, onDone, onJob, onDismiss }: {
  id: string;
  onDone: () => void;
  /** Another job began: the one that undoes this one. */
  onJob: (id: string) => void;
  onDismiss: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const job = useQuery({
    queryKey: projectKey('bulk', id),
    queryFn: ({ signal }) => call(api.GET('/contacts/bulk/{jobId}', { params: { path: { jobId: id } }, signal })),
    refetchInterval: ({ state }) => (state.data && ['completed', 'failed'].includes(state.data.state) ? false : ASK_MS),
  });
  const { data } = job;
  const isOver = data?.state === 'completed' || data?.state === 'failed';
  useEffect(() => {
    if (isOver) onDone();
    // oxlint-disable-next-line react/exhaustive-deps -- once, when it is over
  }, [isOver]);
  const dismiss = (
    <IconButton size="small" label={t.job.dismiss} onClick={onDismiss}>
      <Icon of={X} size={14} />
    </IconButton>
  );
  if (job.error && !data) return <Problem error={job.error} onRetry={() => void job.refetch()} />;
  if (!data) return null;
  if (!isOver) {
    return (
      <Banner tone="muted">
        <p role="status" className="mb-1.5">
          {data.state === 'active' ? `${data.progress} %` : t.job.waiting}
        </p>
        <Progress value={data.progress} label={t.job.label} />
      </Banner>
    );
  }
  const { result } = data;
  if (!result) {
    return (
      <Banner tone="bad" action={dismiss}>
        <p role="status">
          {t.job.failed} {data.failedReason}
        </p>
      </Banner>
    );
  }
  const undo = async () => {
    setBusy(true);
    try {
      onJob((await call(api.POST('/contacts/bulk/{jobId}/undo', { params: { path: { jobId: id } } }))).jobId);
    } catch (error) {
      failed(error);
      setBusy(false);
    }
  };
  const canUndo = result.operation !== 'delete' && result.successCount > 0;
  const actions = (
    <span className="flex items-center gap-1">
      {canUndo && (
        <Button size="small" busy={busy} onClick={() => void undo()}>
          <Icon of={Undo2} size={14} />
          {t.job.undo}
        </Button>
      )}
      {dismiss}
    </span>
  );
  return (
    <Banner tone={result.failureCount > 0 ? 'warn' : 'good'} action={actions}>
      <p role="status">
        {t.job[result.operation](result.successCount)} {result.unchangedCount > 0 && t.job.unchanged(result.unchangedCount)}
      </p>
      {result.failureCount > 0 && (
        <details className="mt-1">
          <summary>{t.job.failures(result.failureCount)}</summary>
          <ul className="max-h-32 list-disc overflow-y-auto pl-5">
            {result.errors.map((one) => (
              <li key={one.contactId}>
                {one.email ?? one.contactId}: {one.error}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Banner>
  );
}
