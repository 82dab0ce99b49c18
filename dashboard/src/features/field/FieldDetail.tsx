import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { number, plural } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Confirm, Dialog } from '#/ui/dialog';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { done } from '#/ui/toast';
import { fieldUsage, reloadFields } from './queries';
import { t } from './texts';
import { Uses } from './Uses';

/** What uses a field, and removing it from all contacts. */
export function FieldDetail({ field, mayDelete, onClose }: { field: string; mayDelete: boolean; onClose: () => void }) {
  const [asking, setAsking] = useState(false);
  const { data, error, refetch } = useQuery(fieldUsage(field));
  const count = data?.contactCount ?? 0;
  const contacts = plural(count, { one: t.oneContact, other: t.manyContacts(number(count)) });
  const remove = async () => {
    const { deletedFrom } = await call(api.DELETE('/contacts/fields/{field}', { params: { path: { field } } }));
    const from = plural(deletedFrom, { one: t.oneContact, other: t.manyContacts(number(deletedFrom)) });
    done(t.removed(field, from));
    await reloadFields();
    onClose();
  };
  if (asking) {
    return (
      <Confirm
        open
        onClose={() => setAsking(false)}
        title={t.removeQuestion(field)}
        action={t.remove}
        typed={field}
        onConfirm={remove}
      >
        <p>{t.removeText(contacts)}</p>
        {data && <Uses of={data} />}
      </Confirm>
    );
  }
  return (
    <Dialog open onClose={onClose} title={field} description={data ? t.hasIt(contacts) : undefined}>
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : (
        <div className="space-y-4">
          <Uses of={data} />
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>{t.close}</Button>
            {data.canDelete && mayDelete && (
              <Button variant="danger" onClick={() => setAsking(true)}>
                {t.remove}
              </Button>
            )}
          </div>
        </div>
      )}
    </Dialog>
  );
}
