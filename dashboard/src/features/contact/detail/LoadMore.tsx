import { Button } from '#/ui/button';
import { t } from './texts';

/** Shows older entries, where there are any. */
export function LoadMore({ of }: { of: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!of.hasNextPage) return null;
  return (
    <div className="pt-3">
      <Button busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {t.loadMore}
      </Button>
    </div>
  );
}
