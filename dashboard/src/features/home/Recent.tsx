import { useQuery } from '@tanstack/react-query';
import { projectKey } from '#/api/query';
import { EntryRow } from '#/features/activity/EntryRow';
import { page } from '#/features/activity/queries';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { t } from './texts';

/** How many entries are shown, and how often they are read anew, in milliseconds. */
const SHOWN = 8;
const LOOK_MS = 15_000;

/** What happened last. */
export function Recent() {
  const found = useQuery({
    queryKey: projectKey('activity', 'home'),
    queryFn: ({ signal }) => page({}, undefined, signal, SHOWN),
    refetchInterval: LOOK_MS,
  });
  return (
    <Section title={t.recent} actions={<TextLink to="/activity">{t.allActivity}</TextLink>}>
      {found.error && !found.data ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !found.data ? (
        <Skeleton rows={5} />
      ) : found.data.data.length === 0 ? (
        <p className="text-muted">{t.quiet}</p>
      ) : (
        <ul className="-mx-3 -my-2">
          {found.data.data.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
    </Section>
  );
}
