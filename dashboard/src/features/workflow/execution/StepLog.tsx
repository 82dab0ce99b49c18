import type { Schemas } from '#/api/client';
import { duration } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Tag } from '#/ui/status';
import { Time } from '#/ui/time';
import { asConfig, textAt } from '../model/graph';
import { ICONS } from '../step/kinds';
import { StepState } from './ExecutionState';
import { exitReasonText } from './exit-reason';
import { t } from './texts';

/** What a step did, as executions and rehearsals tell it. */
export interface LoggedStep {
  readonly stepId: string;
  readonly name: string;
  readonly type: Schemas['StepType'];
  readonly status: Schemas['StepStatus'];
  readonly startedAt: string;
  readonly completedAt: string | null;
  readonly executeAfter: string | null;
  readonly error: string | null;
  readonly output: unknown;
}

/** A step of an execution as a line of its log. */
export const loggedStep = (step: Schemas['StepExecutionView']): LoggedStep => ({
  stepId: step.stepId,
  name: step.step.name,
  type: step.step.type,
  status: step.status,
  startedAt: step.startedAt,
  completedAt: step.completedAt ?? null,
  executeAfter: step.executeAfter ?? null,
  error: step.error ?? null,
  output: step.output,
});

/** What stands out of an output in one line: the branch that was taken, the answer that came. */
function gist(output: unknown): string {
  const told = asConfig(output);
  for (const name of ['branch', 'waitOutcome', 'statusCode', 'skipped', 'recipientEmail', 'reason']) {
    const value = told[name];
    if (typeof value === 'string' || typeof value === 'number') return String(value);
  }
  return '';
}

/** What the steps of an execution did, in order. */
export function StepLog({ steps, label }: { steps: readonly LoggedStep[]; label: string }) {
  return (
    <ol aria-label={label} className="divide-y divide-line">
      {steps.map((step) => (
        <Entry key={`${step.stepId} ${step.startedAt}`} step={step} />
      ))}
    </ol>
  );
}

function Entry({ step }: { step: LoggedStep }) {
  const mail = textAt(asConfig(step.output), 'emailId');
  const hint = gist(step.output);
  const took = step.completedAt ? Date.parse(step.completedAt) - Date.parse(step.startedAt) : 0;
  return (
    <li className="space-y-1 py-2.5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Icon of={ICONS[step.type]} size={15} className="shrink-0 text-accent" />
        <span className="min-w-0 font-medium break-words">{step.name}</span>
        {hint && <Tag>{hint.slice(0, 60)}</Tag>}
        <span className="ml-auto">
          <StepState status={step.status} />
        </span>
      </div>
      <p className="flex flex-wrap gap-x-2 pl-6 text-meta text-muted">
        <Time at={step.startedAt} />
        {took > 0 && <span>{t.took(duration(took))}</span>}
        {!step.completedAt && step.executeAfter && (
          <span>
            {t.until} <Time at={step.executeAfter} />
          </span>
        )}
        {mail && <TextLink to={`/emails/${mail}`}>{t.mail}</TextLink>}
      </p>
      {step.error && <p className="pl-6 font-medium break-words text-bad">{exitReasonText(step.error)}</p>}
      {step.output !== null && step.output !== undefined && (
        <details className="pl-6">
          <summary className="min-h-6 text-meta text-muted">{t.output}</summary>
          <pre
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
            tabIndex={0}
            role="region"
            aria-label={`${t.output}: ${step.name}`}
            className="mt-1 max-h-72 overflow-auto rounded-control bg-raised p-2 font-mono text-meta"
          >
            {JSON.stringify(step.output, undefined, 2)}
          </pre>
        </details>
      )}
    </li>
  );
}
