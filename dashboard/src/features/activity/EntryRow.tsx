import { Activity, Ban, CircleCheck, CircleX, Filter, Flag, Inbox, ListFilter, type IconNode, LogOut, Mail, MailCheck, MailOpen, MailX, Megaphone, MousePointerClick, Route as RouteIcon, UserMinus, UserPlus, Zap } from 'lucide';
import { memo, type ReactNode } from 'react';
import { exitReasonText } from '#/features/workflow/execution/exit-reason';
import { moment, timeOfDay } from '#/i18n/format';
import { IconButton, TextLink } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { Menu, type MenuEntry } from '#/ui/menu';
import { Phrase } from '#/ui/phrase';
import { dataIn, numberIn, textIn } from './metadata';
import { type ActivityType, type Entry, type Scope } from './queries';
import { t } from './texts';

const ICONS: Partial<Record<ActivityType, readonly [icon: IconNode, color: string]>> = {
  'event.triggered': [Zap, 'text-accent'],
  'email.sent': [Mail, 'text-muted'],
  'email.delivered': [MailCheck, 'text-good'],
  'email.received': [Inbox, 'text-accent'],
  'email.opened': [MailOpen, 'text-good'],
  'email.clicked': [MousePointerClick, 'text-good'],
  'email.bounced': [MailX, 'text-bad'],
  'email.complaint': [Flag, 'text-bad'],
  'email.unsubscribed': [Ban, 'text-warn'],
  'campaign.sent': [Megaphone, 'text-accent'],
  'workflow.started': [RouteIcon, 'text-accent'],
  'workflow.completed': [CircleCheck, 'text-good'],
  'contact.created': [UserPlus, 'text-accent'],
  'contact.subscribed': [UserPlus, 'text-good'],
  'contact.unsubscribed': [UserMinus, 'text-warn'],
  'segment.entered': [Filter, 'text-accent'],
  'segment.exited': [LogOut, 'text-muted'],
};

/** How an execution ended that did not come to its end; undefined for every other entry. */
function breakOf({ type, metadata }: Entry): keyof typeof t.broken | undefined {
  const status = type === 'workflow.completed' ? textIn(metadata, 'status') : undefined;
  return status === 'FAILED' || status === 'CANCELLED' ? status : undefined;
}

/** How a person chooses entries by one that they see. */
export interface OnFilter {
  scope: (scope: Scope, id: string) => void;
  type: (type: ActivityType) => void;
}

function partsOf({ type, metadata, contactEmail, contactId }: Entry): Record<string, ReactNode> {
  // a mail may be to somebody who is no contact of the project: a test goes to any address
  const address = contactEmail ?? textIn(metadata, type === 'email.received' ? 'from' : 'to');
  const mail = textIn(metadata, 'emailId');
  const subject = textIn(metadata, 'subject') ?? t.aMail;
  const campaign = textIn(metadata, 'campaignId');
  const campaignName = textIn(metadata, 'campaignName') ?? t.scopes.campaign;
  const workflow = textIn(metadata, 'workflowId');
  const workflowName = textIn(metadata, 'workflowName') ?? t.scopes.workflow;
  const event = (textIn(metadata, 'eventName') ?? '').replace(/^segment\.(.*)\.(entry|exit)$/, '$1');
  return {
    who: contactId ? (
      <TextLink to={`/contacts/${contactId}`} className="text-ink!">
        {address ?? t.scopes.contact}
      </TextLink>
    ) : (
      <span className={address ? 'font-medium break-all' : 'text-muted'}>{address ?? t.somebody}</span>
    ),
    mail: mail ? <TextLink to={`/emails/${mail}`}>{subject}</TextLink> : <span className="font-medium">{subject}</span>,
    campaign: campaign ? <TextLink to={`/campaigns/${campaign}`}>{campaignName}</TextLink> : campaignName,
    workflow: workflow ? <TextLink to={`/workflows/${workflow}`}>{workflowName}</TextLink> : workflowName,
    event: <code className="font-mono text-meta">{event}</code>,
    type: t.types[type] ?? type,
  };
}

/** What more there is to say: a refusal, what an event was recorded with, where a mail comes from. */
function Detail({ entry, parts }: { entry: Entry; parts: Record<string, ReactNode> }) {
  const { type, metadata } = entry;
  const pieces: ReactNode[] = [];
  const isMail = type.startsWith('email.');
  const broken = breakOf(entry);
  if (broken) pieces.push(t.broken[broken]);
  if (isMail && textIn(metadata, 'campaignId')) pieces.push(<>{t.by} {parts.campaign}</>);
  if (isMail && textIn(metadata, 'workflowId')) pieces.push(<>{t.by} {parts.workflow}</>);
  const opens = type === 'email.opened' ? numberIn(metadata, 'totalOpens') : undefined;
  const clicks = type === 'email.clicked' ? numberIn(metadata, 'totalClicks') : undefined;
  if ((opens ?? clicks ?? 0) > 1) pieces.push(t.times(opens ?? clicks ?? 0));
  const recipients = type === 'campaign.sent' ? numberIn(metadata, 'totalRecipients') : undefined;
  if (recipients !== undefined) pieces.push(t.toRecipients(recipients));
  const exit = textIn(metadata, 'exitReason');
  const reason = textIn(metadata, 'error') ?? exit ?? textIn(metadata, 'segmentName');
  // of an execution that somebody cancelled the service says no more than that
  if (reason && reason.toUpperCase() !== broken) pieces.push(reason === exit ? exitReasonText(exit) : reason);
  if (type === 'event.triggered' && dataIn(metadata)) {
    pieces.push(<code className="font-mono">{dataIn(metadata)}</code>);
  }
  if (pieces.length === 0) return null;
  return (
    // a link that is cut off ends where it is cut off, and does not lie below what stands beside it
    <span className="min-w-0 text-meta text-muted max-sm:block sm:truncate sm:[&_a]:inline-block sm:[&_a]:max-w-full sm:[&_a]:truncate sm:[&_a]:align-bottom">
      {pieces.map((piece, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the pieces of an entry do not move
        <span key={index} className="break-words">
          {index > 0 && ' · '}
          {piece}
        </span>
      ))}
    </span>
  );
}

function filtersOf(entry: Entry, on: OnFilter): MenuEntry[] {
  const ids: readonly [Scope, string | undefined][] = [
    ['contact', entry.contactId ?? undefined],
    ['campaign', textIn(entry.metadata, 'campaignId')],
    ['workflow', textIn(entry.metadata, 'workflowId')],
    ['template', textIn(entry.metadata, 'templateId')],
  ];
  const scopes = ids.flatMap(([scope, id]) => (id ? [{ text: t.onlyThis[scope], onSelect: () => on.scope(scope, id) }] : []));
  return [{ text: `${t.onlyType}: ${t.types[entry.type] ?? entry.type}`, onSelect: () => on.type(entry.type) }, ...scopes];
}

/** An entry of the feed in words. What it is about are links. With `onFilter` the feed can be reduced to its like. */
export const EntryRow = memo(function EntryRow({ entry, onFilter, fresh = false }: { entry: Entry; onFilter?: OnFilter; fresh?: boolean }) {
  const [icon, color] = ICONS[entry.type] ?? [Activity, 'text-muted'];
  const parts = partsOf(entry);
  const broken = breakOf(entry) !== undefined;
  return (
    <li
      data-entry
      className={classes(
        'flex min-h-9 items-start gap-2.5 border-b border-line px-3 py-2 last:border-0 focus-within:bg-raised hover:bg-raised',
        fresh && 'bg-accent-soft',
      )}
    >
      <Icon of={broken ? CircleX : icon} size={15} className={classes('mt-0.5 shrink-0', broken ? 'text-bad' : color)} />
      <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2 sm:flex-nowrap">
        <span className="min-w-0 break-words sm:max-w-full sm:shrink-0 sm:not-only:max-w-[75%]">
          <Phrase text={t.phrases[entry.type] ?? t.other} parts={parts} />
        </span>
        <Detail entry={entry} parts={parts} />
      </div>
      <time dateTime={entry.timestamp} title={moment(entry.timestamp)} className="tabular shrink-0 text-meta leading-5 text-muted">
        {timeOfDay(entry.timestamp)}
      </time>
      {onFilter && (
        <Menu
          trigger={
            <IconButton label={t.filterLike} size="small" className="-my-1 shrink-0">
              <Icon of={ListFilter} size={14} />
            </IconButton>
          }
          entries={filtersOf(entry, onFilter)}
        />
      )}
    </li>
  );
});
