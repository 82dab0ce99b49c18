import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { TextLink } from '#/ui/button';
import { useDebounced } from '#/ui/debounced';
import { Problem } from '#/ui/problem';
import { Status } from '#/ui/status';
import { preview } from './queries';
import { t } from './texts';
import type { Draft } from './use-draft';

/** How long somebody has to pause before the contacts are counted anew, in milliseconds. */
const PAUSE_MS = 350;

/** How many contacts meet a condition while it is edited, and who they are. What is wrong with it is shown at its filters. */
export function Preview({ draft }: { draft: Draft }) {
  const { tree: condition, isComplete } = draft;
  const settled = useDebounced(condition, PAUSE_MS);
  const found = useQuery({ ...preview(settled), enabled: isComplete && settled === condition, placeholderData: keepPreviousData });
  const error = settled === condition ? found.error : null;
  useEffect(() => {
    if (error) draft.take(error);
    // oxlint-disable-next-line react/exhaustive-deps -- once for each error
  }, [error]);
  if (!isComplete) return <p className="text-muted">{t.fillIn}</p>;
  if (draft.issues.length > 0) return <p className="text-muted">{t.mend}</p>;
  if (error) return <Problem error={error} onRetry={() => void found.refetch()} />;
  const { data } = found;
  if (!data) return <p className="text-muted">{t.counting}</p>;
  const isWaiting = found.isPlaceholderData || settled !== condition;
  return (
    <div aria-busy={isWaiting} className={isWaiting ? 'opacity-60' : ''}>
      <p role="status" className="tabular">
        <span className="text-section font-semibold">{data.exact ? t.count(data.count) : t.atLeast(data.count)}</span>{' '}
        <span className="text-muted">{isWaiting ? t.counting : t.meet}</span>
      </p>
      {!data.exact && <p className="text-muted">{t.inexact}</p>}
      {data.sample.length > 0 && (
        <ul aria-label={t.newest} className="mt-1 divide-y divide-line">
          {data.sample.map((one) => (
            <li key={one.id} className="flex items-center justify-between gap-3 py-1">
              <TextLink to={`/contacts/${one.id}`} target="_blank" className="min-w-0 truncate">
                {one.email}
              </TextLink>
              <Status tone={one.subscribed ? 'good' : 'muted'}>{one.subscribed ? t.subscribed : t.unsubscribed}</Status>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
