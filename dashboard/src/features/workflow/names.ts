import { useQuery } from '@tanstack/react-query';
import { segments } from '#/features/segment/queries';
import { useMemo } from 'react';
import { type Workflow } from './queries';
import type { Names } from './step/summary';

/** The names of the templates and segments that the steps of a workflow refer to. */
export function useNames(workflow: Workflow): Names {
  const { data } = useQuery(segments());
  return useMemo(() => {
    const templates = workflow.steps.flatMap(({ template }) => (template ? [[template.id, template.name] as const] : []));
    const all = data?.map((segment) => [segment.id, segment.name] as const);
    return { templates: new Map(templates), segments: new Map(all ?? []) };
  }, [workflow, data]);
}
