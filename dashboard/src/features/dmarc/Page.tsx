import { useQuery } from '@tanstack/react-query';
import { ApiError } from '#/api/error';
import { queries } from '#/api/query';
import { domains } from '#/features/domain/queries';
import { oneOf, useParam, useSearchState } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Select } from '#/ui/form';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Words } from '#/ui/words';
import { asking } from './asking';
import { DnsValue } from './DnsValue';
import { Reporters, Sources, Totals } from './Figures';
import { PolicySection } from './PolicySection';
import { reports } from './queries';
import { t } from './texts';

const PERIODS = ['30', '7', '90'] as const;
const SEARCH = { days: oneOf(PERIODS) };
const TAB = { tab: 'domains' };

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(reports(id, Number(PERIODS[0])));

/** What receivers report of a domain, and the policy that it can go on to. */
export default function DmarcPage() {
  const id = useParam('id');
  return <Reports key={id} id={id} />;
}

function Reports({ id }: { id: string }) {
  const [{ days }, setSearch] = useSearchState(SEARCH);
  const { data, error, refetch } = useQuery(reports(id, Number(days)));
  const above = (
    <TextLink to="/settings" search={TAB}>
      {t.back}
    </TextLink>
  );
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Page title={t.notFound} above={above}>
        <Empty
          title={t.notFound}
          action={
            <LinkButton to="/settings" search={TAB}>
              {t.back}
            </LinkButton>
          }
        />
      </Page>
    );
  }
  if (!data) {
    return (
      <Page title={t.reports} lead={t.lead} above={above}>
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton rows={9} />}
      </Page>
    );
  }
  const period = (
    <Select hideLabel label={t.days} value={days} onChange={(event) => setSearch({ days: PERIODS.find((one) => one === event.target.value) ?? '30' })}>
      {PERIODS.toSorted((a, b) => Number(a) - Number(b)).map((one) => (
        <option key={one} value={one}>
          {t.lastDays(Number(one))}
        </option>
      ))}
    </Select>
  );
  return (
    <Page title={t.title(data.domain)} lead={t.lead} above={above} actions={period}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <PolicySection domain={data.domain} policy={data.policy} />
      {data.reporters.length === 0 ? (
        <Nothing id={id} proposed={data.policy.proposed?.record} />
      ) : (
        <>
          <Totals totals={data.totals} unproven={data.unproven} />
          {data.sources.length > 0 && <Sources sources={data.sources} more={data.more} />}
          <Reporters reporters={data.reporters} />
        </>
      )}
    </Page>
  );
}

/** What is to be published so that reports come. `proposed` is the record that is shown above already. */
function Nothing({ id, proposed }: { id: string; proposed: string | undefined }) {
  const all = useQuery(domains());
  const domain = all.data?.find((one) => one.id === id);
  if (all.error && !all.data) return <Problem error={all.error} onRetry={() => void all.refetch()} />;
  if (!domain) return <Skeleton rows={3} />;
  const todo = asking(domain);
  const record = 'value' in todo && todo.value !== proposed ? todo : undefined;
  const text = todo.what === 'publish' && !record ? t.asks.publishAbove : t.asks[todo.what];
  return (
    <Empty title={t.empty}>
      <p>
        <Words text={text} />
      </p>
      {record && (
        <div className="mt-3 flex justify-center text-ink">
          <DnsValue name={record.name} value={record.value} />
        </div>
      )}
    </Empty>
  );
}
