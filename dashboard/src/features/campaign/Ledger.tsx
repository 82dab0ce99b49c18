import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { go, oneOf, text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Confirm } from '#/ui/dialog';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Empty } from '#/ui/empty';
import { Select } from '#/ui/form';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { STATES, terms } from './ledger';
import { type Campaign, type Entry, entries, ledger, reload, type State } from './queries';
import { t } from './texts';

const SEARCH = { state: oneOf(['ACCEPTED', 'WAITING', 'SKIPPED', 'FAILED', 'IN_DOUBT']), reason: text };

/** Every mail of a campaign, by its state and reason. */
export function Ledger({ campaign }: { campaign: Campaign }) {
  const [{ state, reason }, setSearch] = useSearchState(SEARCH);
  const [asking, setAsking] = useState(false);
  const { data: sums } = useQuery(ledger(campaign.id));
  const line = terms(sums?.totals ?? []);
  const term = line.find((one) => one.state === state);
  const canRetry = campaign.status === 'SENT' || campaign.status === 'SENDING';
  const retry = async (which: 'FAILED' | 'IN_DOUBT') => {
    const again = await call(
      api.POST('/campaigns/{id}/retry', { params: { path: { id: campaign.id } }, body: { state: which, ...(which === 'FAILED' && reason ? { reason: reason as Schemas['Reason'] } : {}) } }),
    );
    await reload(campaign.id);
    done(t.retried(again.requeued));
  };
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <div role="group" aria-label={t.status} className="flex flex-wrap gap-1">
          {STATES.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === state}
              onClick={() => setSearch({ state: one, reason: '' })}
              className={classes(
                'h-8 rounded-control border px-2.5 font-medium pointer-coarse:h-11',
                one === state ? 'border-accent bg-accent-soft text-accent' : 'border-line bg-panel hover:bg-raised',
              )}
            >
              <span className="tabular">{number(line.find((other) => other.state === one)?.count ?? 0)}</span>{' '}
              {t.states[one]}
            </button>
          ))}
        </div>
        {term && term.reasons.length > 0 && (
          <Select label={t.reason} value={reason} onChange={(event) => setSearch({ reason: event.target.value })}>
            <option value="">{t.anyReason}</option>
            {term.reasons.map((part) => (
              <option key={part.reason} value={part.reason}>
                {t.reasons[part.reason] ?? part.reason} ({number(part.count)})
              </option>
            ))}
          </Select>
        )}
      </div>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">{t.stateTexts[state]}</p>
        {canRetry && term && state === 'FAILED' && (
          <Button size="small" onClick={() => void retry('FAILED').catch(failed)}>
            {t.retry(reason ? (term.reasons.find((part) => part.reason === reason)?.count ?? 0) : term.count)}
          </Button>
        )}
        {canRetry && term && state === 'IN_DOUBT' && (
          <Button size="small" onClick={() => setAsking(true)}>
            {t.retryDoubt(term.count)}
          </Button>
        )}
      </div>
      <div className="flex h-[calc(100dvh-19rem)] min-h-96 flex-col">
        <CursorList
          label={`${t.part.ledger}: ${t.states[state]}`}
          source={entries(campaign.id, state, reason)}
          rowKey={(row) => row.emailId}
          rowLabel={(row) => row.email ?? t.removedContact}
          onOpen={(row) => go(`/emails/${row.emailId}`)}
          columns={columnsOf(state)}
          empty={<Empty title={t.noEntries} />}
        />
      </div>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.retryDoubtTitle}
        action={t.retryDoubt(term?.count ?? 0)}
        onConfirm={() => retry('IN_DOUBT')}
      >
        <p>{t.retryDoubtText}</p>
      </Confirm>
    </div>
  );
}

/** What there is to say about a mail in a state: those that were taken have no reason, those that were not tried no reply. */
function columnsOf(state: State): ListColumn<Entry>[] {
  const hasReason = state === 'SKIPPED' || state === 'FAILED';
  const hasReply = state !== 'ACCEPTED' && state !== 'SKIPPED';
  return [
    { name: t.recipient, width: 'minmax(0,2fr)', cell: (row) => row.email ?? t.removedContact },
    ...(hasReason
      ? [{ name: t.reason, width: 'minmax(0,1fr)', cell: (row: Entry) => (row.reason ? (t.reasons[row.reason] ?? row.reason) : '') }]
      : []),
    ...(hasReply ? [{ name: t.error, width: 'minmax(0,3fr)', wideOnly: true, cell: (row: Entry) => row.error ?? '' }] : []),
    { name: t.attempts, width: '5rem', right: true, wideOnly: true, cell: (row) => number(row.attemptCount) },
    { name: t.when, width: '7rem', right: true, cell: (row) => <Time at={row.updatedAt} /> },
  ];
}
