import { Status } from '#/ui/status';
import { Words } from '#/ui/words';
import type { Report } from './check';
import { t as problemTexts } from './problem-texts';
import { t } from './texts';

/** What was found in a mail, the errors first. */
export function Problems({ report }: { report: Report }) {
  const sorted = report.problems.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
  if (sorted.length === 0) return null;
  return (
    <section aria-label={t.problemList} className="rounded-card border border-line bg-panel">
      <ul className="divide-y divide-line">
        {sorted.map((problem) => (
          <li key={`${problem.code} ${problem.field} ${problem.line} ${problem.column} ${problem.message}`} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
            <Status tone={problem.severity === 'error' ? 'bad' : 'warn'}>{problem.severity === 'error' ? t.error : t.warning}</Status>
            <span className="min-w-0 flex-1 break-words"><Words text={problemTexts.words(problem)} /></span>
            <span className="tabular text-meta text-muted">
              {[problem.field === 'subject' ? t.subjectField : '', problem.line ? t.at(problem.line) : ''].filter(Boolean).join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
