import { t } from './exit-texts.ts';

/** Why an execution ended, or a step of it failed: in our words where the service says it, else as somebody wrote it. */
export function exitReasonText(reason: string): string {
  return Object.hasOwn(t, reason) ? t[reason as keyof typeof t] : reason;
}
