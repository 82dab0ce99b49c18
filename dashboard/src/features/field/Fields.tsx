import { useQuery } from '@tanstack/react-query';
import { useProject } from '#/features/project/open';
import { percent } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { ListSearch } from '#/ui/list-search';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Tag } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { FieldDetail } from './FieldDetail';
import { type Field, contactFields } from './queries';
import { t } from './texts';

/** `fields` is the search, `field` the one that is open. */
const SEARCH = { fields: text, field: text };

/** The custom fields of contacts: how many contacts have each, what uses it, and removing it. */
export function Fields() {
  const project = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const { data, error, refetch } = useQuery(contactFields());
  const custom = data?.filter((field) => field.isCustom) ?? [];
  const wanted = search.fields.trim().toLowerCase();
  const shown = custom.filter((field) => field.field.toLowerCase().includes(wanted));
  const columns: Column<Field>[] = [
    { name: t.field, cell: ({ field }) => <code className="font-mono break-all">{field}</code> },
    { name: t.type, cell: ({ type }) => <Tag>{t.types[type]}</Tag> },
    { name: t.coverage, right: true, cell: ({ coverage }) => percent(coverage), wideOnly: true },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: ({ field }) => (
        <Button size="small" onClick={() => setSearch({ field })} aria-label={t.usageOf(field)}>
          {t.usage}
        </Button>
      ),
    },
  ];
  return (
    <Section
      title={t.fields}
      lead={t.fieldsText}
      actions={
        custom.length > 0 && (
          <ListSearch label={t.search} value={search.fields} onSearch={(to) => setSearch({ fields: to })} className="w-full sm:w-64" />
        )
      }
    >
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={4} />
      ) : custom.length === 0 ? (
        <Empty title={t.none}>{t.noneText}</Empty>
      ) : shown.length === 0 ? (
        <p className="text-muted">{t.noMatch}</p>
      ) : (
        <Table label={t.fields} columns={columns} rows={shown} rowKey={(field) => field.field} />
      )}
      {search.field !== '' && (
        <FieldDetail field={search.field} mayDelete={!project.disabled} onClose={() => setSearch({ field: '' })} />
      )}
    </Section>
  );
}
