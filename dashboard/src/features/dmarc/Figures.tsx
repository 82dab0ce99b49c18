import { number, percent } from '#/i18n/format';
import { Figure, Section } from '#/ui/page';
import { Status, type Tone } from '#/ui/status';
import { Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { Words } from '#/ui/words';
import { whose } from './asking';
import type { DmarcReports, Source } from './queries';
import { t } from './texts';

const TONES: Record<ReturnType<typeof whose>, Tone> = { ours: 'good', yours: 'accent', unknown: 'warn' };

/** A part of all mails. */
const share = (part: number, all: number): string => (all > 0 ? percent(part / all) : '–');

/** All that was reported together by those who are proved to have sent their reports, and how much others told. */
export function Totals({ totals, unproven }: Pick<DmarcReports, 'totals' | 'unproven'>) {
  const { messages, aligned, dkimAligned, spfAligned, quarantined, rejected } = totals;
  return (
    <section aria-label={t.totals} className="space-y-3">
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-6">
        <Figure name={t.mails} value={number(messages)} />
        <Figure name={t.aligned} value={share(aligned, messages)} note={number(aligned)} />
        <Figure name="DKIM" value={share(dkimAligned, messages)} note={number(dkimAligned)} />
        <Figure name="SPF" value={share(spfAligned, messages)} note={number(spfAligned)} />
        <Figure name={t.quarantined} value={number(quarantined)} />
        <Figure name={t.rejected} value={number(rejected)} />
      </div>
      <p className="max-w-prose text-muted">
        <Words text={t.totalsText} />
      </p>
      {unproven.messages > 0 && <p className="max-w-prose text-muted">{t.unproven(unproven.messages)}</p>}
    </section>
  );
}

function Whose({ source }: { source: Source }) {
  const sender = whose(source);
  if (source.isProven) return <Status tone={TONES[sender]}>{t.whose[sender]}</Status>;
  return (
    <>
      <Status tone="muted">{t.whose[sender]}</Status> <span className="text-meta text-muted">{t.notProven}</span>
    </>
  );
}

/** Where the mail came from. */
export function Sources({ sources, more }: { sources: readonly Source[]; more: number }) {
  return (
    <Section title={t.sources} lead={t.sourcesText}>
      <Table
        label={t.sources}
        rows={sources}
        rowKey={(source) => `${source.ip ?? ''} ${source.isProven}`}
        columns={[
          {
            name: t.address,
            cell: (source) => (
              <div className="min-w-28">
                {source.ip ? <code className="font-mono text-meta break-all">{source.ip}</code> : <span className="text-muted">{t.otherSources}</span>}
                <p className="text-meta sm:hidden">
                  <Whose source={source} />
                </p>
              </div>
            ),
          },
          { name: t.who, wideOnly: true, cell: (source) => <Whose source={source} /> },
          { name: t.mails, right: true, cell: (source) => number(source.messages) },
          { name: t.aligned, right: true, cell: (source) => share(source.aligned, source.messages) },
          { name: 'DKIM', right: true, wideOnly: true, cell: (source) => share(source.dkimAligned, source.messages) },
          { name: 'SPF', right: true, wideOnly: true, cell: (source) => share(source.spfAligned, source.messages) },
          {
            name: t.domains,
            wideOnly: true,
            cell: (source) => (
              <span className="block max-w-60 break-words text-muted" title={source.domains.join(', ')}>
                {source.domains.join(', ')}
              </span>
            ),
          },
        ]}
      />
      {more > 0 && <p className="mt-3 text-meta text-muted">{t.more(more)}</p>}
    </Section>
  );
}

/** Who reported. */
export function Reporters({ reporters }: { reporters: DmarcReports['reporters'] }) {
  return (
    <Section title={t.reporters} lead={t.reportersText}>
      <Table
        label={t.reporters}
        rows={reporters}
        rowKey={(reporter) => `${reporter.domain ?? ''} ${reporter.name}`}
        columns={[
          {
            name: t.reporter,
            cell: (reporter) => (
              <div className="max-w-72 min-w-28 break-words">
                {reporter.name}
                <p className="text-meta text-muted">{reporter.domain ?? t.notProven}</p>
              </div>
            ),
          },
          { name: t.reportCount, right: true, cell: (reporter) => number(reporter.reports) },
          { name: t.mails, right: true, cell: (reporter) => number(reporter.messages) },
          { name: t.last, right: true, wideOnly: true, cell: (reporter) => <Time at={reporter.lastEnd} /> },
        ]}
      />
    </Section>
  );
}
