import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { currentProject } from '#/api/client';
import { PreviewFrame } from '#/editor/preview/PreviewFrame';
import { classes } from '#/ui/classes';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { type Campaign, rendering, samples } from './queries';
import { t } from './texts';

/** The campaign as some of its recipients would get it, with their data. */
export default function Samples({ campaign }: { campaign: Campaign }) {
  const found = useQuery(samples(campaign));
  const [chosen, setChosen] = useState(0);
  const contact = found.data?.[chosen] ?? found.data?.[0];
  return (
    <Section title={t.samples} lead={t.samplesLead}>
      {found.error ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !found.data ? (
        <Skeleton rows={6} />
      ) : !contact ? (
        <p className="text-muted">{t.noSamples}</p>
      ) : (
        <div className="space-y-3">
          <div role="group" aria-label={t.samples} className="flex flex-wrap gap-1.5">
            {found.data.map((one, index) => (
              <button
                key={one.id}
                type="button"
                aria-pressed={one.id === contact.id}
                onClick={() => setChosen(index)}
                className={classes(
                  'h-7 max-w-full truncate rounded-control border px-2 text-meta font-medium pointer-coarse:h-11',
                  one.id === contact.id ? 'border-accent bg-accent-soft text-accent' : 'border-line hover:bg-raised',
                )}
              >
                {one.email}
              </button>
            ))}
          </div>
          <Rendering campaign={campaign} contactId={contact.id} />
        </div>
      )}
    </Section>
  );
}

function Rendering({ campaign, contactId }: { campaign: Campaign; contactId: string }) {
  const { data, error } = useQuery(rendering(campaign, contactId));
  if (error) return <Problem error={error} />;
  const { subject, body, type } = campaign;
  return (
    <div className="overflow-hidden rounded-card border border-line">
      <p className="border-b border-line px-3 py-2 break-words">
        <span className="text-muted">{t.subject}:</span> <span className="font-medium">{data?.subject ?? '…'}</span>
      </p>
      <PreviewFrame
        fields={{ projectId: currentProject(), subject, body, type, contactId }}
        title={t.sample}
        className="h-[32rem]"
      />
    </div>
  );
}
