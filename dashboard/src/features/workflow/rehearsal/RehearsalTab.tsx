import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { type Codec, oneOf, text, useSearchState, whole } from '#/router';
import { Empty } from '#/ui/empty';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Banner } from '#/ui/status';
import { asConfig, type Graph, textAt } from '../model/graph';
import { rehearsal, versions, type Workflow } from '../queries';
import { RehearsalForm, type Request } from './RehearsalForm';
import { RehearsalResult } from './RehearsalResult';
import { t } from './texts';

/** A version; 0 for what is edited, or for none. */
const version: Codec<number> = {
  read: (given) => Math.max(0, Math.trunc(Number(given) || 0)),
  write: (value) => (value === 0 ? '' : String(value)),
};
const SEARCH = { with: oneOf(['days', 'contact', 'events']), days: whole(30), contact: text, version, compare: version, job: text };

/** Rehearses a workflow. What is asked for, and the job, are in the address. */
export default function RehearsalTab({ workflow, graph }: { workflow: Workflow; graph: Graph }) {
  const [wishes, setSearch] = useSearchState(SEARCH);
  const { data: known } = useQuery(versions(workflow.id));
  const [answer, setAnswer] = useState<Schemas['Simulation']>();
  const { id } = workflow;
  const run = async (request: Request) => {
    setAnswer(undefined);
    setSearch({ job: '' });
    const found = await call(api.POST('/workflows/{id}/simulate', { params: { path: { id } }, body: request }));
    if ('jobId' in found) setSearch({ job: found.jobId });
    else setAnswer(found);
  };
  const give = () => {
    setAnswer(undefined);
    setSearch({ with: 'events', job: '' });
  };
  return (
    <div className="space-y-6">
      <section className="rounded-card border border-line bg-panel p-4">
        <p className="mb-3 max-w-prose text-muted">{t.lead}</p>
        <RehearsalForm
          wishes={wishes}
          versions={(known ?? []).map((one) => one.number)}
          eventName={textAt(asConfig(workflow.triggerConfig), 'eventName')}
          onChange={setSearch}
          onRun={run}
        />
      </section>
      {answer && <RehearsalResult workflow={workflow} graph={graph} result={answer} comparedWith={wishes.compare} onGive={give} />}
      {wishes.job && <Rehearsing workflow={workflow} graph={graph} job={wishes.job} comparedWith={wishes.compare} onGive={give} />}
      {!answer && !wishes.job && <Empty title={t.empty}>{t.emptyText}</Empty>}
    </div>
  );
}

function Rehearsing({ workflow, graph, job, comparedWith, onGive }: {
  workflow: Workflow;
  graph: Graph;
  job: string;
  comparedWith: number;
  onGive: () => void;
}) {
  const { data, error } = useQuery(rehearsal(workflow.id, job));
  if (error && !data) return <Problem error={error} />;
  if (data?.state === 'failed') return <Banner tone="bad">{`${t.failed}: ${data.failedReason ?? ''}`}</Banner>;
  if (data?.result) return <RehearsalResult workflow={workflow} graph={graph} result={data.result} comparedWith={comparedWith} onGive={onGive} />;
  return <Progress value={data?.progress ?? 0} label={t.running} />;
}
