import type { Schemas } from '#/api/client';
import { Status, type Tone } from '#/ui/status';
import type { ExecutionStatus } from '../queries';
import { t } from './texts';

const TONES: Readonly<Record<ExecutionStatus, Tone>> = {
  RUNNING: 'accent',
  WAITING: 'accent',
  COMPLETED: 'good',
  EXITED: 'good',
  FAILED: 'bad',
  CANCELLED: 'muted',
};

/** How an execution stands. */
export function ExecutionState({ status, converted = false }: { status: ExecutionStatus; converted?: boolean }) {
  return (
    <Status tone={TONES[status]}>
      {t.statuses[status]}
      {converted && <span className="text-muted">({t.converted})</span>}
    </Status>
  );
}

const STEP_TONES: Readonly<Record<Schemas['StepStatus'], Tone>> = {
  WAITING: 'accent',
  RUNNING: 'accent',
  COMPLETED: 'good',
  SKIPPED: 'muted',
  FAILED: 'bad',
};

/** How a step of an execution stands. */
export function StepState({ status }: { status: Schemas['StepStatus'] }) {
  return <Status tone={STEP_TONES[status]}>{t.stepStatuses[status]}</Status>;
}
