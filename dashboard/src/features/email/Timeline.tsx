import { Ban, CircleCheck, CircleX, Clock, Flag, HelpCircle, Inbox, type IconNode, MailCheck, MailOpen, MousePointerClick } from 'lucide';
import { moment } from '#/i18n/format';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { Time } from '#/ui/time';
import type { Attempt, EmailDetail } from './queries';
import { t } from './texts';
import { type Happening, timelineOf } from './timeline';

const LOOKS: Record<Exclude<Happening['kind'], 'attempt'>, readonly [IconNode, string, string]> = {
  accepted: [Inbox, 'text-muted', t.accepted],
  received: [Inbox, 'text-accent', t.received],
  delivered: [MailCheck, 'text-good', t.delivered],
  opened: [MailOpen, 'text-good', t.openedAt],
  clicked: [MousePointerClick, 'text-good', t.clickedAt],
  bounced: [Ban, 'text-bad', t.bouncedAt],
  complained: [Flag, 'text-bad', t.complainedAt],
  next: [Clock, 'text-muted', t.next],
};
const OUTCOMES: Record<Attempt['outcome'], readonly [IconNode, string]> = {
  sent: [CircleCheck, 'text-good'],
  deferred: [Clock, 'text-warn'],
  bounced: [CircleX, 'text-bad'],
  failed: [CircleX, 'text-bad'],
  in_doubt: [HelpCircle, 'text-warn'],
};

function AttemptText({ attempt, isLast }: { attempt: Attempt; isLast: boolean }) {
  const captured = attempt.host === 'capture';
  const answer = [attempt.code, attempt.reply ?? attempt.error].filter(Boolean).join(' ');
  return (
    <>
      <p>
        <span className="font-medium">{t.attempt(attempt.attempt)}</span> {t.outcomes[attempt.outcome]}
        <span className="text-muted">
          {captured ? ` · ${t.captured}` : ` · ${t.via(attempt.host)} · ${attempt.tls ? t.encrypted : t.notEncrypted}`}
        </span>
      </p>
      {answer && (
        <p className="mt-1 rounded-control bg-raised px-2 py-1 font-mono text-meta break-words whitespace-pre-wrap">{answer}</p>
      )}
      {isLast && !captured && <p className="text-meta text-muted">{t.follows[attempt.outcome]}</p>}
    </>
  );
}

/** What happened to a mail, step by step, with every answer of the mail server and what follows from it. */
export function Timeline({ mail }: { mail: EmailDetail }) {
  const steps = timelineOf(mail);
  const last = mail.attempts.at(-1);
  return (
    <>
      <ol className="space-y-3">
        {steps.map((step) => {
          const [icon, color, name] =
            step.kind === 'attempt' ? [...OUTCOMES[step.attempt.outcome], ''] : LOOKS[step.kind];
          return (
            <li key={`${step.kind} ${step.at} ${step.kind === 'attempt' ? step.attempt.attempt : ''}`} className="flex gap-3">
              <Icon of={icon} size={16} className={classes('mt-0.5 shrink-0', color)} />
              <div className="min-w-0 flex-1">
                {step.kind === 'attempt' ? (
                  <AttemptText attempt={step.attempt} isLast={step.attempt === last} />
                ) : (
                  <p className="font-medium">{name}</p>
                )}
              </div>
              <span className="tabular shrink-0 text-meta text-muted">
                <span className="max-sm:hidden">{moment(step.at)}</span>
                <span className="sm:hidden">
                  <Time at={step.at} />
                </span>
              </span>
            </li>
          );
        })}
      </ol>
      {mail.attemptCount > mail.attempts.length && mail.attempts.length > 0 && (
        <p className="mt-3 text-meta text-muted">{t.lastAttempts}</p>
      )}
    </>
  );
}
