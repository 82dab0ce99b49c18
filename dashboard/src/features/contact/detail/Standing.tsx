import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status } from '#/ui/status';
import { Time } from '#/ui/time';
import { standing } from './queries';
import { t } from './texts';

type Reason = Schemas['StandingReason'];

function sentenceOf({ match, reason, topic }: Reason): string {
  if (topic) return t.notInTopic(topic.name);
  if (reason === 'unsubscribed') return t.notSubscribed;
  if (!match) return reason;
  if (match.source === 'rule') return t.rule(match.name, match.pattern);
  return match.source === 'instance' ? t.instanceList : match.reason ? t.onList[match.reason] : reason;
}

/** What keeps mail back, since when, and the mail for which it does. */
function ReasonRow({ of }: { of: Reason }) {
  return (
    <li>
      {sentenceOf(of)}
      {of.since && (
        <span className="text-muted">
          {' '}
          {t.sinceWhen} <Time at={of.since} />
          {of.expiresAt && (
            <>
              , {t.untilWhen} <Time at={of.expiresAt} />
            </>
          )}
          .
        </span>
      )}
      {of.emailId && (
        <>
          {' '}
          <TextLink to={`/emails/${of.emailId}`}>{t.theMail}</TextLink>
        </>
      )}
    </li>
  );
}

/** Whether a contact gets mail, and what keeps it back. It asks what sending asks. */
export function Standing({ contact }: { contact: string }) {
  const { data, error, refetch } = useQuery(standing(contact));
  const kinds = data ? ([['transactional', t.transactional], ['marketing', t.marketing]] as const) : [];
  return (
    <Section title={t.standing}>
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={2} />
      ) : (
        <div className="space-y-3">
          <ul className="flex flex-wrap gap-x-6 gap-y-1">
            {kinds.map(([kind, name]) => (
              <li key={kind}>
                <Status tone={data.canReceive[kind] ? 'good' : 'warn'}>
                  {name} {data.canReceive[kind] ? t.arrives : t.heldBack}
                </Status>
              </li>
            ))}
          </ul>
          {data.reasons.length > 0 && (
            <ul className="list-disc space-y-1 pl-4">
              {data.reasons.map((reason) => (
                <ReasonRow key={`${reason.reason} ${reason.topic?.id ?? ''} ${reason.match?.pattern ?? ''}`} of={reason} />
              ))}
            </ul>
          )}
          {data.troubles.length > 0 && (
            <div>
              <h3 className="font-medium">{t.troubles}</h3>
              <ul className="mt-1 space-y-1">
                {data.troubles.map((one) => (
                  <li key={one.emailId} className="break-words">
                    <TextLink to={`/emails/${one.emailId}`}>{one.complainedAt ? t.statuses.COMPLAINED : t.statuses.BOUNCED}</TextLink>{' '}
                    <Time at={one.complainedAt ?? one.bouncedAt ?? ''} />
                    {one.error && <span className="text-muted"> · {one.error}</span>}
                  </li>
                ))}
              </ul>
            </div>
          )}
        </div>
      )}
    </Section>
  );
}
