import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { api, call } from '#/api/client';
import { topics } from '#/features/topic/queries';
import { moment } from '#/i18n/format';
import { go } from '#/router';
import { lazyPart } from '#/router/lazy';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Facts, Section } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { done } from '#/ui/toast';
import type { AudienceWriting } from './audience-writing';
import { Count } from './Count';
import { PartLink } from './parts';
import { Problems } from './Problems';
import { type Campaign, reload, review } from './queries';
import { useReached } from './reached';
import { Schedule } from './Schedule';
import { t } from './texts';

const Samples = lazyPart(() => import('./Samples'));

/** The last page before a campaign leaves: whom it reaches, what would go wrong, how it looks, and the button. */
export function Review({ campaign, audience, isDirty, onSave, onTest }: {
  campaign: Campaign;
  audience: AudienceWriting;
  /** Whether something written is not saved, and so would not be sent. */
  isDirty: boolean;
  onSave: () => void;
  onTest: () => void;
}) {
  const { data: found } = useQuery(review(campaign.id));
  const { data: known } = useQuery(topics());
  const reached = useReached(campaign);
  const [sending, setSending] = useState(false);
  const recipients = found?.audience?.recipients ?? 0;
  const isSettled = !isDirty && audience.state === 'stored';
  const topic = known?.find((one) => one.id === campaign.topicId);
  return (
    <div className="space-y-4">
      {isDirty && (
        <Banner tone="warn" action={<Button onClick={onSave}>{t.save}</Button>}>
          {t.reviewsSaved}
        </Banner>
      )}
      {audience.state !== 'stored' && (
        <Banner tone="warn" action={<PartLink id={campaign.id} part="audience">{t.mend.audience}</PartLink>}>
          {t.reviewsAudience}
        </Banner>
      )}
      <Count id={campaign.id} />
      <Problems id={campaign.id} onTest={onTest} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
        <div className="space-y-4">
          <Section title={t.summary}>
            <Facts
              rows={[
                [t.subject, campaign.subject],
                [t.from, campaign.fromName ? `${campaign.fromName} <${campaign.from}>` : campaign.from],
                [t.replyTo, campaign.replyTo ?? campaign.from],
                [t.type, t.types[campaign.type]],
                ...(topic ? ([[t.topic, topic.name]] as const) : []),
                ...reached,
                ...(campaign.scheduledFor ? ([[t.scheduledFor, moment(campaign.scheduledFor)]] as const) : []),
              ]}
            />
          </Section>
          <Section title={t.sendPart}>
            <div className="space-y-4">
              <Schedule key={campaign.scheduledFor ?? ''} campaign={campaign} disabled={!isSettled} />
              <div className="space-y-2 border-t border-line pt-4">
                <Button variant="primary" disabled={!found?.ready || !isSettled} onClick={() => setSending(true)}>
                  {t.sendTo(recipients)}
                </Button>
                {found && !found.ready && <p className="text-meta text-muted">{t.notReady}</p>}
              </div>
            </div>
          </Section>
        </div>
        <Suspense fallback={<Skeleton rows={8} />}>
          <Samples campaign={campaign} />
        </Suspense>
      </div>
      <Confirm
        open={sending}
        onClose={() => setSending(false)}
        title={t.sendTitle}
        action={t.send}
        danger={false}
        onConfirm={async () => {
          await call(api.POST('/campaigns/{id}/send', { params: { path: { id: campaign.id } }, body: {} }));
          await reload(campaign.id);
          done(t.sending);
          go(`/campaigns/${campaign.id}`);
        }}
      >
        <p>{t.sendText(recipients)}</p>
      </Confirm>
    </div>
  );
}
