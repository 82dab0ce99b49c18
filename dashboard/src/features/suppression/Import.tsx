import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, rawRequest, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Progress } from '#/ui/progress';
import { Banner } from '#/ui/status';
import { Table } from '#/ui/table';
import { t } from './texts';

/** How often the state of the import is asked for, in milliseconds. */
const POLL_MS = 500;

/** Reads a file of addresses that get no mail. */
export function Import({ onClose }: { onClose: () => void }) {
  const [job, setJob] = useState<string>();
  const start = async (data: FormData) => {
    const response = await rawRequest('/suppressions/addresses/import', { method: 'POST', body: data });
    const queued = (await response.json()) as Schemas['QueuedJob'];
    setJob(queued.jobId);
  };
  return (
    <Dialog open onClose={onClose} title={t.import}>
      {job ? (
        <Running job={job} />
      ) : (
        <Form onSubmit={start}>
          <TextField name="file" type="file" accept=".csv,text/csv" label={t.file} hint={t.fileHint} className="py-1.5" required />
          <SubmitButton>{t.importStart}</SubmitButton>
        </Form>
      )}
    </Dialog>
  );
}

function Running({ job }: { job: string }) {
  const { data } = useQuery({
    queryKey: projectKey('suppressions', 'import', job),
    queryFn: async ({ signal }) => {
      const state = await call(
        api.GET('/suppressions/addresses/import/{jobId}', { params: { path: { jobId: job } }, signal }),
      );
      if (state.state === 'completed') {
        await queries.invalidateQueries({ queryKey: projectKey('suppressions', 'addresses') });
      }
      return state;
    },
    refetchInterval: (query) =>
      query.state.data?.state === 'completed' || query.state.data?.state === 'failed' ? false : POLL_MS,
  });
  if (data?.state === 'failed') {
    return (
      <Banner tone="bad">
        {t.importFailed}: {data.failedReason}
      </Banner>
    );
  }
  if (data?.state !== 'completed' || !data.result) {
    return (
      <div className="space-y-2">
        <p>{t.importing}</p>
        <Progress value={data?.progress ?? 0} label={t.importing} />
      </div>
    );
  }
  const { addedCount, unchangedCount, failureCount, errors } = data.result;
  return (
    <div className="space-y-3">
      <p role="status">{t.imported(addedCount, unchangedCount, failureCount)}</p>
      {errors.length > 0 && (
        <Table
          label={t.failures}
          rows={errors}
          rowKey={(row) => String(row.row)}
          columns={[
            { name: t.row, cell: (row) => row.row },
            { name: t.email, cell: (row) => row.email },
            { name: t.problem, cell: (row) => row.error },
          ]}
        />
      )}
    </div>
  );
}
