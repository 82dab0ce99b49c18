import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Section } from '#/ui/page';
import { Status, type Tone } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { recentImports } from './queries';
import { t } from './texts';

type Listed = Schemas['ListedJob_ImportCounts'];

const TONES: Record<string, Tone> = { completed: 'good', failed: 'bad', active: 'accent' };

const COLUMNS: readonly Column<Listed>[] = [
  {
    name: t.when,
    cell: (job) => (
      <TextLink to="/contacts/import" search={{ job: job.id }} current={false}>
        <Time at={job.createdAt} />
      </TextLink>
    ),
  },
  {
    name: t.state,
    cell: (job) => <Status tone={TONES[job.state] ?? 'muted'}>{t.states[job.state as keyof typeof t.states]}</Status>,
  },
  { name: t.created, right: true, cell: (job) => number(job.counts.createdCount) },
  { name: t.updated, right: true, wideOnly: true, cell: (job) => number(job.counts.updatedCount) },
  { name: t.failures, right: true, cell: (job) => number(job.counts.failureCount) },
];

/** The last imports of the project, whoever began them. Nothing while there are none. */
export function Recent() {
  const jobs = useQuery(recentImports()).data;
  if (!jobs || jobs.length === 0) return null;
  return (
    <Section title={t.recent}>
      <Table label={t.recent} columns={COLUMNS} rows={jobs.slice(0, 10)} rowKey={(job) => job.id} />
    </Section>
  );
}
