import { Status as Word, type Tone } from '#/ui/status';
import type { Listed, Status } from './queries';
import { t } from './texts';

const TONES: Record<Status, Tone> = {
  DRAFT: 'muted',
  SCHEDULED: 'accent',
  SENDING: 'accent',
  SENT: 'good',
  CANCELLED: 'bad',
};

/** How far a campaign is, as a word and a dot. */
export function StatusWord({ campaign }: { campaign: Pick<Listed, 'status' | 'pausedAt'> }) {
  const isPaused = campaign.status === 'SENDING' && Boolean(campaign.pausedAt);
  return (
    <Word tone={isPaused ? 'warn' : TONES[campaign.status]}>{isPaused ? t.paused : t.statuses[campaign.status]}</Word>
  );
}
