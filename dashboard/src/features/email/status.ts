import type { Tone } from '#/ui/status';
import type { EmailStatus } from './queries';

/** How each state of a mail looks. */
export const TONES: Readonly<Record<EmailStatus, Tone>> = {
  PENDING: 'muted',
  SENDING: 'accent',
  SENT: 'good',
  DELIVERED: 'good',
  OPENED: 'good',
  CLICKED: 'good',
  BOUNCED: 'bad',
  COMPLAINED: 'bad',
  RECEIVED: 'accent',
  FAILED: 'bad',
  SKIPPED: 'muted',
  SUPPRESSED: 'warn',
  IN_DOUBT: 'warn',
};

/** The states in the order in which a mail goes through them. */
export const STATUSES = Object.keys(TONES) as EmailStatus[];
