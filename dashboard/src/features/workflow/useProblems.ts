import { useQuery } from '@tanstack/react-query';
import { segments } from '#/features/segment/queries';
import { useMemo } from 'react';
import type { Graph } from './model/graph';
import { type Problem, problemsOf } from './model/problems';
import { type Workflow } from './queries';

/** What to look at in a workflow as it is edited. */
export function useProblems(workflow: Workflow, graph: Graph): readonly Problem[] {
  const { data: known } = useQuery(segments());
  return useMemo(() => {
    const withTemplate = new Set(workflow.steps.filter((step) => step.template).map((step) => step.id));
    const statics = known && new Set(known.filter((segment) => segment.type === 'STATIC').map((segment) => segment.id));
    const { triggerType, triggerConfig } = workflow;
    return problemsOf(graph, { withTemplate, segments: statics, triggerType, triggerConfig });
  }, [workflow, graph, known]);
}
