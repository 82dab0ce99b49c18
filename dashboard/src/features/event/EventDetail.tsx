import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Uses } from '#/features/field/Uses';
import { Button } from '#/ui/button';
import { Confirm, Dialog } from '#/ui/dialog';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { done } from '#/ui/toast';
import { eventUsage } from './queries';
import { t } from './texts';

/** What uses an event name, and deleting its events. */
export function EventDetail({ name, mayDelete, onClose }: { name: string; mayDelete: boolean; onClose: () => void }) {
  const [asking, setAsking] = useState(false);
  const { data, error, refetch } = useQuery(eventUsage(name));
  const total = data?.totalCount ?? 0;
  const remove = async () => {
    const params = { path: { eventName: name } };
    const { deletedCount } = await call(api.DELETE('/events/{eventName}', { params }));
    done(t.deleted(name, deletedCount));
    await queries.invalidateQueries({ queryKey: projectKey('events') });
    onClose();
  };
  if (asking) {
    return (
      <Confirm
        open
        onClose={() => setAsking(false)}
        title={t.deleteQuestion(name)}
        action={t.delete}
        typed={name}
        onConfirm={remove}
      >
        <p>{t.deleteText(total)}</p>
        {data && <Uses of={data} />}
      </Confirm>
    );
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={name}
      description={data ? t.happened(total, data.uniqueContacts) : undefined}
    >
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : (
        <div className="space-y-4">
          <Uses of={data} />
          {!data.canDelete && <p className="text-muted">{t.ofService}</p>}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>{t.close}</Button>
            {data.canDelete && mayDelete && (
              <Button variant="danger" onClick={() => setAsking(true)}>
                {t.delete}
              </Button>
            )}
          </div>
        </div>
      )}
    </Dialog>
  );
}
