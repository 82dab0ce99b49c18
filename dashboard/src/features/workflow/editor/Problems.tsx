import { AlertTriangle, Info } from 'lucide';
import { Icon } from '#/ui/icon';
import { type Graph, portOf, stepAt } from '../model/graph';
import type { Problem } from '../model/problems';
import { portName } from '../step/summary';
import { t } from './texts';

/** What a problem says. */
function textOf(graph: Graph, problem: Problem): string {
  const step = stepAt(graph, problem.step);
  const branch = step && problem.way ? portName(step, portOf(problem.way)) : '';
  if (problem.kind === 'config') return problem.detail ?? '';
  if (problem.kind === 'stale') return t.problems.stale(branch);
  return t.problems[problem.kind];
}

/** What to look at before the workflow runs. Each leads to its step. */
export function Problems({ graph, problems, onOpen }: { graph: Graph; problems: readonly Problem[]; onOpen: (step: string) => void }) {
  if (problems.length === 0) return <p className="p-3 text-muted">{t.noProblems}</p>;
  return (
    <ul className="max-h-64 divide-y divide-line overflow-y-auto">
      {problems.map((problem) => {
        const fails = problem.severity === 'fails';
        return (
          <li key={`${problem.step} ${problem.kind} ${problem.way?.id ?? ''} ${problem.detail ?? ''}`}>
            <button type="button" onClick={() => onOpen(problem.step)} className="flex w-full items-start gap-2 p-2 text-left hover:bg-raised">
              <Icon of={fails ? AlertTriangle : Info} size={15} className={`mt-0.5 shrink-0 ${fails ? 'text-bad' : 'text-warn'}`} />
              <span className="min-w-0">
                <span className="font-medium break-words">{stepAt(graph, problem.step)?.name}</span>{' '}
                <span className="text-muted">{textOf(graph, problem)}</span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
