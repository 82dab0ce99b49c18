import type { Attempt, EmailDetail } from './queries';

/** What happened to a mail. */
export type Happening =
  | { kind: 'accepted' | 'received' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained'; at: string }
  | { kind: 'attempt'; at: string; attempt: Attempt }
  | { kind: 'next'; at: string };

/** What happened to a mail in its order, and when it is tried again. */
export function timelineOf(mail: EmailDetail): Happening[] {
  const all: Happening[] = [{ kind: mail.status === 'RECEIVED' ? 'received' : 'accepted', at: mail.createdAt }];
  for (const attempt of mail.attempts) all.push({ kind: 'attempt', at: attempt.at, attempt });
  const moments = [
    ['delivered', mail.deliveredAt],
    ['opened', mail.openedAt],
    ['clicked', mail.clickedAt],
    ['bounced', mail.bouncedAt],
    ['complained', mail.complainedAt],
  ] as const;
  for (const [kind, at] of moments) {
    // a refusal by the next hop is told by its attempt
    const refused = kind === 'bounced' && mail.attempts.some((attempt) => attempt.outcome === 'bounced');
    if (at && !refused) all.push({ kind, at });
  }
  all.sort((a, b) => a.at.localeCompare(b.at));
  if (mail.nextAttemptAt) all.push({ kind: 'next', at: mail.nextAttemptAt });
  return all;
}
