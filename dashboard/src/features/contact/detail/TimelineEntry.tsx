import type { ReactNode } from 'react';
import { exitReasonText } from '#/features/workflow/execution/exit-reason';
import { moment } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import type { Tone } from '#/ui/status';
import { classes } from '#/ui/classes';
import type { Activity } from './queries';
import { t } from './texts';

const TONES: Record<string, Tone> = {
  'email.delivered': 'good',
  'email.opened': 'good',
  'email.clicked': 'good',
  'email.bounced': 'bad',
  'email.complaint': 'bad',
  'email.unsubscribed': 'warn',
  'contact.unsubscribed': 'warn',
  'contact.subscribed': 'good',
  'event.triggered': 'accent',
  'segment.entered': 'accent',
  'workflow.started': 'accent',
};
const DOTS: Record<Tone, string> = { good: 'bg-good', warn: 'bg-warn', bad: 'bg-bad', accent: 'bg-accent', muted: 'bg-control' };

const clock = (at: string) => moment(at).split(', ').at(-1) ?? '';

/** What an entry is about, with a link to it where it has a page. */
function subjectOf({ type, metadata }: Activity): ReactNode {
  const of = metadata as Record<string, unknown>;
  const word = (name: string) => (typeof of[name] === 'string' ? of[name] : '');
  if (type.startsWith('email.')) {
    return <TextLink to={`/emails/${word('emailId')}`}>{word('subject') || t.noSubject}</TextLink>;
  }
  if (type.startsWith('workflow.')) return <TextLink to={`/workflows/${word('workflowId')}`}>{word('workflowName')}</TextLink>;
  if (type.startsWith('segment.')) {
    const data = of.eventData as Record<string, unknown> | undefined;
    const [id, name] = [data?.segmentId, data?.segmentName];
    return typeof id === 'string' ? <TextLink to={`/segments/${id}`}>{typeof name === 'string' ? name : id}</TextLink> : word('eventName');
  }
  return type === 'event.triggered' ? <span className="font-mono text-meta font-medium">{word('eventName')}</span> : null;
}

/** What else an entry says, in a few words. */
function noteOf({ type, metadata }: Activity): string {
  const of = metadata as Record<string, unknown>;
  const note = type === 'email.bounced' ? of.error : type === 'workflow.completed' ? of.exitReason : type.startsWith('email.') ? (of.campaignName ?? of.workflowName) : undefined;
  if (typeof note !== 'string') return '';
  return type === 'workflow.completed' ? exitReasonText(note) : note;
}

/** One thing that happened to a contact. */
export function TimelineEntry({ entry }: { entry: Activity }) {
  const data = (entry.metadata as { eventData?: unknown }).eventData;
  const hasData = typeof data === 'object' && data !== null && Object.keys(data).length > 0 && !entry.type.startsWith('segment.');
  const note = noteOf(entry);
  return (
    <li className="flex gap-2 border-b border-line py-1.5 last:border-0">
      <span aria-hidden className={classes('mt-1.5 size-2 shrink-0 rounded-full', DOTS[TONES[entry.type] ?? 'muted'])} />
      <div className="min-w-0 flex-1 break-words">
        {t.types[entry.type] ?? entry.type} {subjectOf(entry)}
        {note && <span className="text-muted"> · {note}</span>}
        {hasData && (
          <details>
            <summary className="w-fit text-meta text-muted hover:text-ink">{t.details}</summary>
            <pre className="mt-1 max-h-48 overflow-auto rounded-control bg-raised p-2 font-mono text-meta break-all whitespace-pre-wrap">
              {JSON.stringify(data, null, 2)}
            </pre>
          </details>
        )}
      </div>
      <time dateTime={entry.timestamp} title={moment(entry.timestamp)} className="tabular shrink-0 text-meta text-muted">
        {clock(entry.timestamp)}
      </time>
    </li>
  );
}
