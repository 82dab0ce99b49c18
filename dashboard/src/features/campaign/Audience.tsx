import { useQuery } from '@tanstack/react-query';
import { FilterBuilder } from '#/features/segment/builder/FilterBuilder';
import { Preview } from '#/features/segment/Preview';
import { segments } from '#/features/segment/queries';
import { number } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Select } from '#/ui/form';
import { Facts, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Status } from '#/ui/status';
import type { Choice } from './audience-choice';
import type { AudienceWriting } from './audience-writing';
import { BaseChoice } from './BaseChoice';
import { Count } from './Count';
import type { Campaign } from './queries';
import { useReached } from './reached';
import { t } from './texts';
import { Without } from './Without';

/** Chooses whom a campaign reaches. The count follows. */
export default function Audience({ campaign, writing }: { campaign: Campaign; writing: AudienceWriting }) {
  const { choice, choose, draft, state } = writing;
  const { id } = campaign;
  const reached = useReached(campaign);
  if (campaign.status !== 'DRAFT') {
    return (
      <div className="space-y-4">
        <Count id={id} />
        <Section title={t.audience} lead={t.audienceFixed}>
          <Facts rows={reached} />
        </Section>
      </div>
    );
  }
  return (
    <div className="space-y-4">
      <Count id={id} isWaiting={state !== 'stored'} />
      <Section title={t.audience} lead={t.audienceLead} actions={<Standing writing={writing} />}>
        <div className="space-y-4">
          {writing.error !== undefined && <Problem error={writing.error} onRetry={writing.retry} />}
          <BaseChoice value={choice.base} onChange={(base) => choose({ base })} />
          {choice.base === 'SEGMENT' && <SegmentField choice={choice} onChange={(segmentId) => choose({ segmentId })} />}
          {choice.base === 'FILTERED' && (
            <div className="space-y-3 rounded-card border border-line p-3">
              <FilterBuilder value={draft.group} onChange={draft.set} issues={draft.issues} marksEmpty={draft.marksEmpty} />
              <Preview draft={draft} />
            </div>
          )}
          <Without choice={choice} onChange={(without) => choose({ without })} />
        </div>
      </Section>
    </div>
  );
}

function Standing({ writing }: { writing: AudienceWriting }) {
  return (
    <span role="status">
      {writing.state === 'stored' && <Status tone="good">{t.saved}</Status>}
      {writing.state === 'waiting' && <Status tone="accent">{t.saving}</Status>}
      {writing.state === 'incomplete' && <Status tone="warn">{t.incomplete}</Status>}
      {writing.state === 'failed' && <Status tone="bad">{t.unsaved}</Status>}
    </span>
  );
}

function SegmentField({ choice, onChange }: { choice: Choice; onChange: (id: string) => void }) {
  const { data: all } = useQuery(segments());
  if (all?.length === 0) {
    return (
      <p>
        {t.noSegments} <TextLink to="/segments/new">{t.newSegment}</TextLink>
      </p>
    );
  }
  return (
    <div className="max-w-md">
      <Select label={t.chooseSegment} value={choice.segmentId} onChange={(event) => onChange(event.target.value)}>
        <option value="">{t.pickSegment}</option>
        {all?.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name} ({number(one.memberCount)})
          </option>
        ))}
      </Select>
    </div>
  );
}
