import { useEffect, useMemo, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { number } from '#/i18n/format';
import { oneOf, text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Select, TextField } from '#/ui/form';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import type { Graph } from '../model/graph';
import { type Execution, type ExecutionStatus, REFRESH_MS, refresh, stats, type Workflow } from '../queries';
import { underWay } from '../underWay';
import { EnrolDialog, StartDialog } from './BeginDialogs';
import { ContactWhy } from './ContactWhy';
import { Enrolling } from './Enrolling';
import { ExecutionDetail } from './ExecutionDetail';
import { ExecutionState } from './ExecutionState';
import { t } from './texts';

const STATUSES = ['RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED'] as const;
const SEARCH = { state: oneOf(['', ...STATUSES]), contact: text, execution: text, enrol: text };
/** How many rows are asked for at once. */
const PAGE = 50;

const COLUMNS: ListColumn<Execution>[] = [
  { name: t.columns.contact, width: 'minmax(8rem, 2fr)', cell: (row) => <span className="font-medium">{row.contact.email ?? t.noContact}</span> },
  { name: t.columns.status, width: '10rem', cell: (row) => <ExecutionState status={row.status} converted={row.converted} /> },
  { name: t.columns.step, width: 'minmax(6rem, 1.5fr)', wideOnly: true, cell: (row) => row.currentStep?.name ?? '' },
  { name: t.columns.version, width: '5rem', right: true, wideOnly: true, cell: (row) => number(row.version) },
  { name: t.columns.started, width: '7.5rem', wideOnly: true, cell: (row) => <Time at={row.startedAt} /> },
  { name: t.columns.ended, width: '7.5rem', wideOnly: true, cell: (row) => (row.completedAt ? <Time at={row.completedAt} /> : '') },
];

/** Who goes through a workflow, or went. */
export default function ExecutionsTab({ workflow, graph }: { workflow: Workflow; graph: Graph }) {
  const [{ state, contact, execution: open, enrol }, setSearch] = useSearchState(SEARCH);
  const [dialog, setDialog] = useState<'start' | 'enrol' | 'cancel'>();
  const [wanted, setWanted] = useState(contact);
  useEffect(() => setWanted(contact), [contact]);
  const { data: figures } = useQuery(stats(workflow.id));
  const active = underWay(figures);
  const { id } = workflow;
  const key = useMemo(() => projectKey('workflows', id, 'executions', state), [id, state]);
  const source = useMemo(
    () => ({
      key,
      pageSize: PAGE,
      fetch: async (cursor: string | undefined, signal: AbortSignal) => {
        const page = Number(cursor ?? 1);
        const query = { page, pageSize: PAGE, ...(state ? { status: state as ExecutionStatus } : {}) };
        const found = await call(api.GET('/workflows/{id}/executions', { params: { path: { id }, query }, signal }));
        return { data: found.data, cursor: String(page + 1), hasMore: page < found.totalPages, total: found.total };
      },
    }),
    [key, id, state],
  );
  useEffect(() => {
    if (open || contact) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void queries.invalidateQueries({ queryKey: key });
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [key, open, contact]);

  if (open) return <ExecutionDetail workflow={workflow} graph={graph} id={open} onBack={() => setSearch({ execution: '' })} />;
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center gap-2">
        <form
          role="search"
          className="flex w-full gap-2 sm:w-auto"
          onSubmit={(event) => {
            event.preventDefault();
            setSearch({ contact: wanted.trim() });
          }}
        >
          <div className="min-w-0 flex-1 sm:w-72">
            <TextField
              type="search"
              label={t.contact}
              hideLabel
              placeholder={t.findContact}
              value={wanted}
              data-search
              onChange={(event) => setWanted(event.target.value)}
            />
          </div>
          <Button type="submit" className="h-9">
            {t.look}
          </Button>
        </form>
        <div className="w-44">
          <Select label={t.status} hideLabel value={state} onChange={(event) => setSearch({ state: event.target.value as typeof state, contact: '' })}>
            <option value="">{t.all}</option>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {t.statuses[one]}
              </option>
            ))}
          </Select>
        </div>
        <span className="flex flex-wrap gap-2 sm:ml-auto">
          {active > 0 && <Button onClick={() => setDialog('cancel')}>{t.cancelAll}</Button>}
          {workflow.enabled && (
            <>
              <Button onClick={() => setDialog('enrol')}>{t.enrol}</Button>
              <Button onClick={() => setDialog('start')}>{t.start}</Button>
            </>
          )}
        </span>
      </div>
      {enrol && <Enrolling workflow={id} job={enrol} onDismiss={() => setSearch({ enrol: '' })} />}
      {contact ? (
        <div className="space-y-3">
          <ContactWhy workflow={id} contact={contact} />
          <Button onClick={() => setSearch({ contact: '' })}>{t.clear}</Button>
        </div>
      ) : (
        <div className="flex h-[calc(100dvh-16rem)] min-h-72 flex-col">
          <CursorList
            label={t.title}
            source={source}
            columns={COLUMNS}
            rowKey={(row) => row.id}
            rowLabel={(row) => `${row.contact.email ?? t.noContact}, ${t.statuses[row.status]}`}
            onOpen={(row) => setSearch({ execution: row.id })}
            empty={<NoExecution enabled={workflow.enabled} filtered={state !== ''} onClear={() => setSearch({ state: '' })} />}
          />
        </div>
      )}
      {dialog === 'start' && (
        <StartDialog
          workflow={id}
          onClose={() => setDialog(undefined)}
          onStarted={(execution) => {
            setDialog(undefined);
            setSearch({ execution });
          }}
        />
      )}
      {dialog === 'enrol' && (
        <EnrolDialog
          workflow={id}
          onClose={() => setDialog(undefined)}
          onQueued={(job) => {
            setDialog(undefined);
            setSearch({ enrol: job });
          }}
        />
      )}
      <Confirm
        open={dialog === 'cancel'}
        onClose={() => setDialog(undefined)}
        title={t.cancelAllTitle(active)}
        action={t.cancelAll}
        typed={workflow.name}
        onConfirm={async () => {
          const answer = await call(api.POST('/workflows/{id}/executions/cancel-all', { params: { path: { id } } }));
          await refresh(id);
          done(t.cancelledMany(answer.cancelled));
        }}
      >
        <p>{t.cancelAllText}</p>
      </Confirm>
    </div>
  );
}

function NoExecution({ enabled, filtered, onClear }: { enabled: boolean; filtered: boolean; onClear: () => void }) {
  if (filtered) return <Empty title={t.noneFound} action={<Button onClick={onClear}>{t.showAll}</Button>} />;
  return <Empty title={t.none}>{enabled ? t.noneText : t.noneEnabled}</Empty>;
}
