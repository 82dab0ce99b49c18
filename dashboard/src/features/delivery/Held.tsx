import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { t as emailTexts } from '#/features/email/texts';
import { useIsAdmin } from '#/features/project/open';
import { Button, TextLink } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Section } from '#/ui/page';
import { Status } from '#/ui/status';
import { Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done } from '#/ui/toast';
import { held } from './queries';
import { t } from './texts';

type Decision = 'release' | 'drop';

/**
 * The mails that a restore holds, of the project or of one campaign, and what administrators decide about them. Without any
 * it shows nothing.
 */
export function Held({ campaign: only }: { campaign?: string }) {
  const { data } = useQuery(held(only));
  const isAdmin = useIsAdmin();
  const [asked, setAsked] = useState<{ decision: Decision; campaign?: string }>();
  if (!data || data.total === 0) return null;
  const decide = async () => {
    if (!asked) return;
    const body = { decision: asked.decision, ...(asked.campaign ? { campaignId: asked.campaign } : {}) };
    const { released, dropped, hasMore } = await call(api.POST('/held/decide', { body }));
    done([t.decided(released, dropped), hasMore ? t.moreHeld : ''].filter(Boolean).join(' '));
    await Promise.all([
      queries.invalidateQueries({ queryKey: projectKey('delivery') }),
      queries.invalidateQueries({ queryKey: projectKey('emails') }),
      queries.invalidateQueries({ queryKey: projectKey('campaign') }),
    ]);
  };
  const buttons = (campaign?: string) => (
    <>
      <Button size="small" onClick={() => setAsked({ decision: 'drop', ...(campaign ? { campaign } : {}) })}>
        {t.drop}
      </Button>
      <Button size="small" onClick={() => setAsked({ decision: 'release', ...(campaign ? { campaign } : {}) })}>
        {t.release}
      </Button>
    </>
  );
  const campaigns = only ? [] : (data.counts?.campaigns ?? []);
  const about = campaigns.find((one) => one.campaignId === asked?.campaign)?.count ?? data.total;
  const isRelease = asked?.decision === 'release';
  return (
    <Section title={t.held} lead={t.heldText} danger actions={isAdmin && buttons(only)}>
      <div className="space-y-4">
        <p>
          <Status tone="warn">{t.heldCount(data.total)}</Status>
        </p>
        {campaigns.length > 0 && (
          <ul className="space-y-2">
            {campaigns.map((one) => (
              <li key={one.campaignId} className="flex flex-wrap items-center justify-between gap-2">
                <span>
                  <TextLink to={`/campaigns/${one.campaignId}`}>{t.ofCampaign}</TextLink> · {t.heldCount(one.count)}
                </span>
                {isAdmin && <span className="flex gap-2">{buttons(one.campaignId)}</span>}
              </li>
            ))}
          </ul>
        )}
        <Table
          label={t.held}
          rows={data.data}
          rowKey={(mail) => mail.id}
          columns={[
            {
              name: t.mail,
              cell: (mail) => (
                <TextLink to={`/emails/${mail.id}`} className="block max-w-72 truncate">
                  {mail.subject || t.noSubject}
                </TextLink>
              ),
            },
            { name: t.to, cell: (mail) => <span className="block max-w-52 truncate">{mail.to ?? '–'}</span> },
            { name: t.source, wideOnly: true, cell: (mail) => emailTexts.sources[mail.sourceType] },
            { name: t.since, right: true, cell: (mail) => <Time at={mail.createdAt} /> },
          ]}
        />
      </div>
      <Confirm
        open={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={`${isRelease ? t.release : t.drop}: ${t.heldCount(about)}`}
        action={isRelease ? t.release : t.drop}
        typed={isRelease ? t.confirmWord : t.dropWord}
        onConfirm={decide}
      >
        <p>{isRelease ? t.releaseText : t.dropText}</p>
      </Confirm>
    </Section>
  );
}
