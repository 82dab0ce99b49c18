import type { Schemas } from '#/api/client';

/** How many executions have begun and not ended. */
export function underWay(stats: Schemas['WorkflowStats'] | undefined): number {
  if (!stats) return 0;
  return Math.max(0, stats.entered - stats.completed - stats.exited - stats.failed - stats.cancelled);
}
