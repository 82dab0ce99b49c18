import { useCallback, useMemo, useState } from 'react';
import { ContactFilter } from '#/features/email/ContactFilter';
import { useProject } from '#/features/project/open';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Page } from '#/ui/page';
import { dayIn, instants, periodOf, range } from '#/ui/period';
import { PeriodPicker } from '#/ui/period-picker';
import { textOfTypes, typesIn } from './areas';
import { Feed } from './Feed';
import { Figures } from './Figures';
import type { ActivityType, FeedQuery, Scope } from './queries';
import { ScopeFilter } from './ScopeFilter';
import { t } from './texts';
import { TypeFilter } from './TypeFilter';
import { Upcoming } from './Upcoming';

const SEARCH = { types: text, range, contact: text, campaign: text, workflow: text, template: text };
const SCOPES: readonly Scope[] = ['contact', 'campaign', 'workflow', 'template'];
const NO_SCOPE = { contact: '', campaign: '', workflow: '', template: '' };

/** Everything that happens in the project, as it happens. */
export default function ActivityPage() {
  const { timezone } = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const [today] = useState(() => dayIn(timezone));
  const period = periodOf(search.range, today);
  const types = textOfTypes(typesIn(search.types));
  // the API takes one of them
  const scope = SCOPES.find((name) => search[name] !== '');
  const query = useMemo<FeedQuery>(
    () => ({
      ...(types ? { types } : {}),
      ...(scope ? { [`${scope}Id`]: search[scope] } : {}),
      ...(period ? instants(period, timezone) : {}),
    }),
    // oxlint-disable-next-line react/exhaustive-deps -- the texts in the address decide
    [types, scope, scope && search[scope], search.range, timezone],
  );
  const span = instants(period ?? periodOf('30d', today) ?? { from: today, to: today }, timezone);
  const onFilter = useMemo(
    () => ({
      scope: (name: Scope, id: string) => setSearch({ ...NO_SCOPE, [name]: id }),
      type: (type: ActivityType) => setSearch({ types: type }),
    }),
    [setSearch],
  );
  const clear = useCallback(() => setSearch({ ...NO_SCOPE, types: '', range: '' }), [setSearch]);
  const isFiltered = types !== '' || scope !== undefined || period !== undefined;
  return (
    <Page
      title={t.title}
      full
      actions={
        <>
          {scope ? (
            <ScopeFilter scope={scope} id={search[scope]} onRemove={() => setSearch(NO_SCOPE)} />
          ) : (
            <ContactFilter onChoose={(id) => onFilter.scope('contact', id)} />
          )}
          <PeriodPicker
            allTime
            value={search.range}
            period={period}
            today={today}
            onChange={(to) => setSearch({ range: to })}
          />
        </>
      }
    >
      <Figures span={span} range={search.range} />
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_18rem]">
        <div className="min-w-0 xl:col-start-2 xl:row-start-1">
          <Upcoming />
        </div>
        <div className="min-w-0 space-y-3 xl:col-start-1 xl:row-start-1">
          <TypeFilter
            value={types}
            onChange={(to) => setSearch({ types: to })}
            beside={
              isFiltered && (
                <Button size="small" variant="ghost" onClick={clear}>
                  {t.clearFilters}
                </Button>
              )
            }
          />
          <Feed
            key={JSON.stringify(query)}
            query={query}
            isLive={!period || period.to >= today}
            isFiltered={isFiltered}
            onFilter={onFilter}
            onClear={clear}
          />
        </div>
      </div>
    </Page>
  );
}
