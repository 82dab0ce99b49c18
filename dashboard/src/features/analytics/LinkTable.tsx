import { useQuery } from '@tanstack/react-query';
import { number } from '#/i18n/format';
import { Empty } from '#/ui/empty';
import { Table } from '#/ui/table';
import { Block } from './Block';
import { links, type Span } from './queries';
import { t } from './texts';

/** The links of campaigns that people followed most. */
export function LinkTable({ span }: { span: Span }) {
  const rows = useQuery(links(span));
  return (
    <Block title={t.links} lead={t.linksLead} table="links" span={span} rows={rows} empty={<Empty title={t.noLinks} />}>
      {(all) => (
        <Table
          label={t.links}
          rows={all}
          rowKey={(row) => row.url}
          columns={[
            {
              name: t.link,
              cell: (row) => (
                <span className="block max-w-44 truncate sm:max-w-60" title={row.url}>
                  {row.url}
                </span>
              ),
            },
            { name: t.clicks, right: true, cell: (row) => number(row.clicks) },
            { name: t.inMails, right: true, cell: (row) => number(row.uniqueClicks) },
            { name: t.machines, right: true, wideOnly: true, cell: (row) => number(row.machineClicks) },
            { name: t.inCampaigns, right: true, wideOnly: true, cell: (row) => number(row.campaigns) },
          ]}
        />
      )}
    </Block>
  );
}
