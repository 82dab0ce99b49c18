import { Copy, Download, Trash2, UserMinus, UserPlus, X } from 'lucide';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { Button, IconButton } from '#/ui/button';
import { copyText } from '#/ui/clipboard';
import { Confirm } from '#/ui/dialog';
import { saveCsv } from '#/ui/csv';
import { Icon } from '#/ui/icon';
import { done, failed } from '#/ui/toast';
import { csvOf } from './csv';
import type { Contact } from './queries';
import { t } from './texts';

/** How many contacts one request changes. */
export const MOST_AT_ONCE = 1_000;

type Operation = 'subscribe' | 'unsubscribe' | 'delete';

function queue(operation: Operation, contacts: readonly Contact[]): Promise<Schemas['QueuedJob']> {
  const body = { contactIds: contacts.map((one) => one.id) };
  switch (operation) {
    case 'subscribe':
      return call(api.POST('/contacts/bulk-subscribe', { body }));
    case 'unsubscribe':
      return call(api.POST('/contacts/bulk-unsubscribe', { body }));
    case 'delete':
      return call(api.POST('/contacts/bulk-delete', { body }));
  }
}

/** What can be done with the contacts that are selected. `more` selects those that match and were not scrolled to. */
export function BulkBar({ contacts, onJob, onClear, more }: {
  contacts: readonly Contact[];
  onJob: (id: string) => void;
  onClear: () => void;
  more: (() => Promise<void>) | undefined;
}) {
  const [busy, setBusy] = useState(false);
  const [asks, setAsks] = useState(false);
  const tooMany = contacts.length > MOST_AT_ONCE;
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  const begin = async (operation: Operation) => onJob((await queue(operation, contacts)).jobId);
  const copy = async () => {
    if (await copyText(contacts.map((one) => one.email).join('\n'))) done(t.copied(contacts.length));
  };
  return (
    <div
      role="group"
      aria-label={t.actions}
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-card border border-accent bg-accent-soft px-3 py-1.5"
    >
      <span role="status" className="tabular font-medium">
        {t.selected(contacts.length)}
      </span>
      {tooMany && <span className="text-warn">{t.tooMany(MOST_AT_ONCE)}</span>}
      {more && (
        <Button size="small" variant="ghost" busy={busy} onClick={() => void run(more)}>
          {t.selectMatching}
        </Button>
      )}
      <span className="flex flex-wrap gap-1.5 sm:ml-auto">
        <Button size="small" disabled={tooMany} busy={busy} onClick={() => void run(() => begin('subscribe'))}>
          <Icon of={UserPlus} size={14} />
          {t.subscribe}
        </Button>
        <Button size="small" disabled={tooMany} busy={busy} onClick={() => void run(() => begin('unsubscribe'))}>
          <Icon of={UserMinus} size={14} />
          {t.unsubscribe}
        </Button>
        <Button size="small" disabled={tooMany} busy={busy} onClick={() => setAsks(true)}>
          <Icon of={Trash2} size={14} />
          {t.remove}
        </Button>
        <IconButton size="small" label={t.copyAddresses} onClick={() => void run(copy)}>
          <Icon of={Copy} size={14} />
        </IconButton>
        <IconButton size="small" label={t.download} onClick={() => saveCsv(csvOf(contacts), 'contacts.csv')}>
          <Icon of={Download} size={14} />
        </IconButton>
        <IconButton size="small" label={t.deselect} onClick={onClear}>
          <Icon of={X} size={14} />
        </IconButton>
      </span>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={t.removeTitle(contacts.length)}
        action={t.remove}
        onConfirm={() => begin('delete')}
        {...(contacts.length > 10 ? { typed: String(contacts.length) } : {})}
      >
        <p>{t.removeText}</p>
      </Confirm>
    </div>
  );
}
