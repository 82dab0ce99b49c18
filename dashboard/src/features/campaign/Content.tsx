import { useQuery } from '@tanstack/react-query';
import { currentProject } from '#/api/client';
import { MailEditor } from '#/editor/MailEditor';
import { PreviewFrame } from '#/editor/preview/PreviewFrame';
import type { Writing } from '#/editor/writing';
import { topics } from '#/features/topic/queries';
import { Facts, Section } from '#/ui/page';
import type { Campaign } from './queries';
import { useReached } from './reached';
import { t } from './texts';

/** What a campaign is made of: written while it can be changed, and shown afterwards. */
export function Content({ campaign, writing }: { campaign: Campaign; writing?: Writing }) {
  if (!writing) return <Written campaign={campaign} />;
  return (
    <MailEditor
      key={writing.revision}
      draft={writing.draft}
      onChange={writing.setDraft}
      type={campaign.type}
      {...(campaign.topicId ? { topicId: campaign.topicId } : {})}
    />
  );
}

function Written({ campaign }: { campaign: Campaign }) {
  const { data: all } = useQuery(topics());
  const reached = useReached(campaign);
  const { subject, body, type } = campaign;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
      <Section title={t.summary}>
        <Facts
          rows={[
            [t.subject, subject],
            [t.from, campaign.fromName ? `${campaign.fromName} <${campaign.from}>` : campaign.from],
            [t.replyTo, campaign.replyTo ?? campaign.from],
            [t.type, t.types[type]],
            [t.topic, all?.find((one) => one.id === campaign.topicId)?.name ?? t.noTopic],
            ...reached,
            ...(campaign.description ? ([[t.description, campaign.description]] as const) : []),
          ]}
        />
      </Section>
      <section aria-label={t.mail} className="overflow-hidden rounded-card border border-line">
        <PreviewFrame fields={{ projectId: currentProject(), subject, body, type }} title={t.mail} className="h-[36rem]" />
      </section>
    </div>
  );
}
