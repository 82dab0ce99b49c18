import { useQuery } from '@tanstack/react-query';
import { number } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Table } from '#/ui/table';
import { Block } from './Block';
import { Change } from './Change';
import { events, type Span } from './queries';
import { t } from './texts';

/** The events of the period that were recorded most often. */
export function EventTable({ span, range }: { span: Span; range: string }) {
  const rows = useQuery(events(span));
  return (
    <Block
      title={t.events}
      lead={t.eventsLead}
      table="top-events"
      span={span}
      rows={rows}
      empty={<Empty title={t.noEvents}>{t.noEventsHint}</Empty>}
    >
      {(all) => (
        <Table
          label={t.events}
          rows={all}
          rowKey={(row) => row.name}
          columns={[
            { name: t.event, cell: (row) => <code className="block max-w-36 truncate font-mono sm:max-w-60 text-meta">{row.name}</code> },
            {
              name: t.times,
              right: true,
              cell: (row) => (
                <TextLink to="/activity" search={{ types: 'event.triggered', range }}>
                  {number(row.count)}
                </TextLink>
              ),
            },
            { name: t.change, right: true, cell: (row) => <Change share={row.trend / 100} /> },
          ]}
        />
      )}
    </Block>
  );
}
