import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { ApiError } from '#/api/error';
import { useProject } from '#/features/project/open';
import { day } from '#/i18n/format';
import { AnchorButton } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { money } from './money';
import { invoices } from './queries';
import { t } from './texts';

type Invoice = Schemas['InvoiceView'];

/** A link to the payment service; what is no web address is left out. */
function Out({ href, children, name }: { href: string | null | undefined; children: string; name: string }) {
  if (!href || !/^https?:\/\//.test(href)) return null;
  return (
    <AnchorButton size="small" href={href} target="_blank" rel="noreferrer" aria-label={name}>
      {children}
    </AnchorButton>
  );
}

const COLUMNS: readonly Column<Invoice>[] = [
  { name: t.invoice, cell: (one) => one.number ?? one.id },
  { name: t.date, cell: (one) => (one.created ? day(one.created) : ''), wideOnly: true },
  {
    name: t.state,
    cell: (one) => <Status tone={one.paid ? 'good' : one.status === 'open' ? 'warn' : 'muted'}>{t.states[one.status ?? ''] ?? one.status}</Status>,
  },
  { name: t.amount, right: true, cell: (one) => money(one.total, one.currency) },
  {
    name: t.actions,
    hideName: true,
    right: true,
    cell: (one) => (
      <span className="inline-flex gap-1">
        <Out href={one.hostedInvoiceUrl} name={`${t.open} ${one.number ?? one.id}`}>
          {t.open}
        </Out>
        <Out href={one.invoicePdf} name={`PDF ${one.number ?? one.id}`}>
          PDF
        </Out>
      </span>
    ),
  },
];

/** The invoices of a project, and what is still to be paid. */
export function Invoices() {
  const project = useProject();
  const { data, error, refetch } = useQuery(invoices(project.id));
  // a project that was never subscribed has none
  if (error instanceof ApiError && error.status === 400) return null;
  return (
    <Section title={t.invoices}>
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : (
        <div className="space-y-4">
          {data.unpaidInvoices.map((one) => (
            <Banner
              key={one.id}
              tone="bad"
              action={
                <Out href={one.hostedInvoiceUrl} name={`${t.pay} ${one.number ?? one.id}`}>
                  {t.pay}
                </Out>
              }
            >
              {t.unpaid(one.number ?? one.id, money(one.amountDue, one.currency))}
            </Banner>
          ))}
          {data.invoices.length === 0 ? (
            <Empty title={t.noInvoices}>{t.noInvoicesText}</Empty>
          ) : (
            <Table label={t.invoices} columns={COLUMNS} rows={data.invoices} rowKey={(one) => one.id} />
          )}
        </div>
      )}
    </Section>
  );
}
