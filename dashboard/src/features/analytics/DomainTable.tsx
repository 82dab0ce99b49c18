import { useQuery } from '@tanstack/react-query';
import { number } from '#/i18n/format';
import { Empty } from '#/ui/empty';
import { Table } from '#/ui/table';
import { Block } from './Block';
import { domains, type Span } from './queries';
import { Share } from './Share';
import { t } from './texts';

/** What became of the mails of the period, by the domain of their recipients. */
export function DomainTable({ span }: { span: Span }) {
  const rows = useQuery(domains(span));
  return (
    <Block
      title={t.domains}
      lead={t.domainsLead}
      table="domains"
      span={span}
      rows={rows}
      empty={<Empty title={t.noDomains} />}
    >
      {(all) => (
        <Table
          label={t.domains}
          rows={all}
          rowKey={(row) => row.domain ?? ''}
          columns={[
            {
              name: t.domain,
              cell: (row) =>
                row.domain ? (
                  <span className="block max-w-60 truncate">{row.domain}</span>
                ) : (
                  <span className="text-muted">{t.otherDomains}</span>
                ),
            },
            { name: t.mails, right: true, wideOnly: true, cell: (row) => number(row.emails) },
            { name: t.measures.sent, right: true, cell: (row) => number(row.sent) },
            { name: t.measures.delivered, right: true, wideOnly: true, cell: (row) => <Share count={row.delivered} of={row.sent} /> },
            { name: t.opened, right: true, cell: (row) => <Share count={row.opens} of={row.sent} /> },
            { name: t.clicked, right: true, wideOnly: true, cell: (row) => <Share count={row.clicks} of={row.sent} /> },
            { name: t.bounced, right: true, cell: (row) => <Share count={row.bounces} of={row.sent} /> },
            { name: t.complained, right: true, wideOnly: true, cell: (row) => number(row.complaints) },
          ]}
        />
      )}
    </Block>
  );
}
