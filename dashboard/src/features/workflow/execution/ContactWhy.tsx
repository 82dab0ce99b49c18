import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { TextLink } from '#/ui/button';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { Time } from '#/ui/time';
import { asConfig, textAt } from '../model/graph';
import { why } from '../queries';
import { ExecutionState } from './ExecutionState';
import { t } from './texts';

/** Everything that was decided about a contact, the newest first: which events began executions, and which did not. */
export function ContactWhy({ workflow, contact }: { workflow: string; contact: string }) {
  const { data, error, refetch } = useQuery(why(workflow, contact));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={5} />;
  return (
    <section className="rounded-card border border-line bg-panel">
      <h2 className="border-b border-line p-4 text-section font-semibold break-words">{t.decisions(contact)}</h2>
      {data.decisions.length === 0 && <p className="p-4 text-muted">{t.noDecisions}</p>}
      <ol className="divide-y divide-line">
        {data.decisions.toReversed().map((decision) => (
          <Decision key={`${decision.at} ${decision.execution?.id ?? decision.eventId ?? ''}`} workflow={workflow} decision={decision} />
        ))}
      </ol>
    </section>
  );
}

function Decision({ workflow, decision }: { workflow: string; decision: Schemas['DecisionView'] }) {
  const { execution, eventName, reason, seen, at } = decision;
  return (
    <li className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1 p-4">
      {execution ? (
        <div className="min-w-0">
          <TextLink to={`/workflows/${workflow}`} search={{ tab: 'executions', execution: execution.id }} current={false}>
            {eventName ? t.beganBy(eventName) : t.beganByRequest}
          </TextLink>
          <p className="mt-1">
            <ExecutionState status={execution.status} converted={execution.converted} />
          </p>
        </div>
      ) : (
        <div className="min-w-0">
          <Status tone="warn">{t.refusedAt(eventName ?? '')}</Status>
          {reason && <p className="mt-1">{t.reasons[reason]}</p>}
          <ul className="list-disc pl-5 text-muted">
            {(seen ?? []).map(asConfig).map((one) => (
              <li key={JSON.stringify(one)} className="break-words">
                {t.saw(textAt(one, 'field'), JSON.stringify(one.value ?? null))}
              </li>
            ))}
          </ul>
        </div>
      )}
      <span className="text-muted">
        <Time at={at} />
      </span>
    </li>
  );
}
