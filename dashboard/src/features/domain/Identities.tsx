import { Status, type Tone } from '#/ui/status';
import { Time } from '#/ui/time';
import { Words } from '#/ui/words';
import type { Identity } from './queries';
import { t } from './texts';

const TONES: Record<Identity['status'], Tone> = {
  pending: 'warn',
  verified: 'good',
  failed: 'bad',
  denied: 'bad',
  throttled: 'muted',
  limited: 'bad',
  refused: 'bad',
  unavailable: 'muted',
};

/** Why nothing came of asking SES, in the language of the page; nothing where the service does not say it in a word. */
function inOurWords({ errorKind }: Identity): string | undefined {
  return errorKind && Object.hasOwn(t.identityErrors, errorKind) ? t.identityErrors[errorKind] : undefined;
}

/** What is known of a domain at Amazon SES, by transport. */
export function Identities({ identities }: { identities: readonly Identity[] }) {
  if (identities.length === 0) return null;
  return (
    <div className="mt-4 space-y-2">
      <h3 className="font-medium">{t.identities}</h3>
      <ul className="space-y-2">
        {identities.map((identity) => (
          <li key={identity.transport}>
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="min-w-0 break-words">{t.identity(identity.transport)}</span>
              <Status tone={TONES[identity.status]}>{t.identityStates[identity.status]}</Status>
              <span className="text-meta text-muted">
                {identity.signedWith && t.signedWith[identity.signedWith]}
                {identity.signedWith && identity.checkedAt && ' · '}
                {identity.checkedAt && (
                  <>
                    {t.checked} <Time at={identity.checkedAt} />
                  </>
                )}
              </span>
            </p>
            {identity.error && (
              <p className="max-w-prose text-meta break-words">
                <Words text={inOurWords(identity) ?? identity.error} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
