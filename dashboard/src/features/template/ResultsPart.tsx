import { useQuery } from '@tanstack/react-query';
import { number, percent } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Figure, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Table } from '#/ui/table';
import { templateStats, templateUsage } from './queries';
import { t } from './texts';

/** What became of the mails of a template, and what sends it. */
export function ResultsPart({ id }: { id: string }) {
  const stats = useQuery(templateStats(id));
  const usage = useQuery(templateUsage(id));
  if (stats.error) return <Problem error={stats.error} onRetry={() => void stats.refetch()} />;
  if (!stats.data) return <Skeleton rows={5} />;
  const { emails, delivered, opened, clicked, bounced, complained, unsubscribed } = stats.data;
  const share = (count: number) => (emails > 0 ? t.share(percent(count / emails)) : undefined);
  const figures = [
    [t.delivered, delivered],
    [t.opened, opened],
    [t.clicked, clicked],
    [t.bounced, bounced],
    [t.complained, complained],
    [t.unsubscribed, unsubscribed],
  ] as const;
  return (
    <div className="space-y-4">
      <section aria-label={t.results} className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        <Figure name={t.emails} value={number(emails)} />
        {figures.map(([name, count]) => (
          <Figure key={name} name={name} value={number(count)} note={share(count)} />
        ))}
      </section>
      <Section title={t.usage}>
        {usage.error ? (
          <Problem error={usage.error} onRetry={() => void usage.refetch()} />
        ) : !usage.data ? (
          <Skeleton rows={2} />
        ) : usage.data.workflowSteps.length === 0 ? (
          <p className="text-muted">{t.usageNone}</p>
        ) : (
          <Table
            label={t.usage}
            rows={usage.data.workflowSteps}
            rowKey={(step) => step.id}
            columns={[
              { name: t.workflow, cell: (step) => <TextLink to={`/workflows/${step.workflowId}`}>{step.workflowName}</TextLink> },
              { name: t.step, cell: (step) => step.name },
            ]}
          />
        )}
      </Section>
    </div>
  );
}
