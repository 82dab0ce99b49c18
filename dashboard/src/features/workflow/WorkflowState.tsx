import { Status } from '#/ui/status';
import { t } from './texts';

/** Whether a workflow is enabled, and whether what is edited is in force. */
export function WorkflowState({ enabled, isDraft }: { enabled: boolean; isDraft: boolean }) {
  if (!enabled) return <Status tone="muted">{t.states.disabled}</Status>;
  return isDraft ? <Status tone="warn">{t.states.draft}</Status> : <Status tone="good">{t.states.enabled}</Status>;
}
