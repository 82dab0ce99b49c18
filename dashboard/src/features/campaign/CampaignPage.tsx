import { Suspense, useState } from 'react';
import { useWriting, type Writing } from '#/editor/writing';
import { Saver } from '#/features/template/Saver';
import { VersionsPart } from '#/features/template/VersionsPart';
import { moment } from '#/i18n/format';
import { lazyPart } from '#/router/lazy';
import { Button, TextLink } from '#/ui/button';
import { Page } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { Tabs } from '#/ui/tabs';
import { Time } from '#/ui/time';
import { Unsaved } from '#/ui/unsaved';
import { Actions } from './Actions';
import { useAudienceWriting } from './audience-writing';
import { Content } from './Content';
import { Details } from './Details';
import { Ledger } from './Ledger';
import { isOpen, PartTab, useParts } from './parts';
import { type Campaign, know, save, versions } from './queries';
import { Results } from './Results';
import { Review } from './Review';
import { StatusWord } from './StatusWord';
import { TestDialog } from './TestDialog';
import { t } from './texts';

const Audience = lazyPart(() => import('./Audience'));

/** A campaign that is loaded. What is written of it stays while its parts are looked at. */
export function CampaignPage({ stored }: { stored: Campaign }) {
  const { id, status } = stored;
  const { parts, shown } = useParts(status);
  const [testing, setTesting] = useState(false);
  const writing = useWriting(stored, (changes) => save(id, changes), t);
  const audience = useAudienceWriting(stored);
  const canChange = isOpen(status);
  return (
    <Page
      title={stored.name}
      above={<TextLink to="/campaigns">{t.title}</TextLink>}
      lead={<Standing campaign={stored} writing={writing} />}
      actions={<Actions campaign={stored} writing={writing} part={shown} onTest={() => setTesting(true)} />}
      full
    >
      <Tabs label={t.parts}>
        {parts.map((part) => (
          <PartTab key={part} id={id} part={part} current={part === shown}>
            {part === 'content' && !canChange ? t.mail : t.part[part]}
          </PartTab>
        ))}
      </Tabs>
      {stored.note && <Banner tone="warn">{stored.note}</Banner>}
      {writing.isOvertaken && canChange && (
        <Banner tone="warn" action={<Button onClick={() => writing.adopt(stored)}>{t.showTheirs}</Button>}>
          {t.changedElsewhere}
        </Banner>
      )}
      {canChange ? (
        // it stays while another part is open, so that undoing goes on
        <div hidden={shown !== 'content'}>
          <Content campaign={stored} writing={writing} />
        </div>
      ) : (
        shown === 'content' && <Content campaign={stored} />
      )}
      {shown === 'settings' && <Unsaved>{(onDirty) => <Details campaign={stored} onDirty={onDirty} />}</Unsaved>}
      {shown === 'audience' && (
        <Suspense fallback={<Skeleton rows={6} />}>
          <Audience campaign={stored} writing={audience} />
        </Suspense>
      )}
      {shown === 'versions' && (
        <VersionsPart
          stored={stored}
          source={versions}
          isDirty={writing.isDirty}
          canRestore={canChange}
          onRestored={(restored) => {
            writing.adopt(restored);
            know(restored);
          }}
        />
      )}
      {shown === 'review' && (
        <Review
          campaign={stored}
          audience={audience}
          isDirty={writing.isDirty}
          onSave={() => void writing.save()}
          onTest={() => setTesting(true)}
        />
      )}
      {shown === 'results' && <Results campaign={stored} />}
      {shown === 'ledger' && <Ledger campaign={stored} />}
      {testing && <TestDialog id={id} save={writing.save} onClose={() => setTesting(false)} />}
    </Page>
  );
}

/** How far a campaign is, and whether what is written is saved. */
function Standing({ campaign, writing }: { campaign: Campaign; writing: Writing }) {
  const { status, scheduledFor, finishedAt, sentAt } = campaign;
  const over = finishedAt ?? sentAt;
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <StatusWord campaign={campaign} />
      {status === 'SCHEDULED' && scheduledFor && <span>{t.leavesAt(moment(scheduledFor))}</span>}
      {!isOpen(status) && over && <Time at={over} />}
      {isOpen(status) &&
        (writing.isDirty ? (
          <Status tone="warn">{t.unsaved}</Status>
        ) : (
          <span className="text-muted">
            {t.savedAt} <Time at={campaign.savedAt} /> <Saver by={campaign.savedBy ?? undefined} />
          </span>
        ))}
    </span>
  );
}
