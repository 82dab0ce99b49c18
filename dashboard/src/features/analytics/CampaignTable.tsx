import { useQuery } from '@tanstack/react-query';
import { number } from '#/i18n/format';
import { LinkButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Table } from '#/ui/table';
import { Block } from './Block';
import { campaigns, type Span } from './queries';
import { Share } from './Share';
import { t } from './texts';

/** The campaigns of the period, each with what became of it. */
export function CampaignTable({ span }: { span: Span }) {
  const rows = useQuery(campaigns(span));
  const feed = (id: string, types: string) => ({ campaign: id, types });
  return (
    <Block
      title={t.campaigns}
      lead={t.campaignsLead}
      table="top-campaigns"
      span={span}
      rows={rows}
      empty={<Empty title={t.noCampaigns} action={<LinkButton to="/campaigns/create">{t.newCampaign}</LinkButton>} />}
    >
      {(all) => (
        <Table
          label={t.campaigns}
          rows={all}
          rowKey={(row) => row.id}
          columns={[
            {
              name: t.campaign,
              cell: (row) => (
                <div className="max-w-36 min-w-0 sm:max-w-52">
                  <TextLink to={`/campaigns/${row.id}`} className="block truncate">
                    {row.name}
                  </TextLink>
                  <span className="block truncate text-meta text-muted">{row.subject}</span>
                </div>
              ),
            },
            {
              name: t.measures.sent,
              right: true,
              cell: (row) => (
                <TextLink to="/activity" search={feed(row.id, 'email.sent')}>
                  {number(row.sentCount)}
                </TextLink>
              ),
            },
            {
              name: t.opened,
              right: true,
              cell: (row) => (
                <TextLink to="/activity" search={feed(row.id, 'email.opened')}>
                  <Share count={row.openedCount} of={row.sentCount} />
                </TextLink>
              ),
            },
            {
              name: t.clicked,
              right: true,
              cell: (row) => (
                <TextLink to="/activity" search={feed(row.id, 'email.clicked')}>
                  <Share count={row.clickedCount} of={row.sentCount} />
                </TextLink>
              ),
            },
          ]}
        />
      )}
    </Block>
  );
}
