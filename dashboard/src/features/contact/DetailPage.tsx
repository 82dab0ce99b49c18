import { useQuery } from '@tanstack/react-query';
import { queries } from '#/api/query';
import { oneOf, useParam, useSearchState } from '#/router';
import { TextLink } from '#/ui/button';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Tab, Tabs } from '#/ui/tabs';
import { Subscription } from './columns';
import { DataEditor } from './DataEditor';
import { Consent } from './detail/Consent';
import { Mails } from './detail/Mails';
import { Places } from './detail/Places';
import { Standing } from './detail/Standing';
import { Timeline } from './detail/Timeline';
import { PersonActions } from './PersonActions';
import { Profile } from './Profile';
import { type Contact, contact } from './queries';
import { t } from './texts';

const TABS = ['timeline', 'mails', 'consent', 'places'] as const;
const SEARCH = { tab: oneOf(TABS) };

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(contact(id));

/** A contact: who it is, what is known, and everything that happened. */
export default function DetailPage() {
  const id = useParam('id');
  const found = useQuery(contact(id));
  const above = <TextLink to="/contacts">{t.back}</TextLink>;
  if (found.error && !found.data) {
    return (
      <Page title={t.contact} above={above}>
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      </Page>
    );
  }
  if (!found.data) {
    return (
      <Page title={t.contact} above={above}>
        <Skeleton rows={8} />
      </Page>
    );
  }
  return <Shown key={id} contact={found.data} />;
}

function Shown({ contact: shown }: { contact: Contact }) {
  const [{ tab }] = useSearchState(SEARCH);
  const { id, email } = shown;
  return (
    <Page
      title={email}
      full
      above={<TextLink to="/contacts">{t.back}</TextLink>}
      lead={<Subscription of={shown} />}
      actions={<PersonActions contact={shown} />}
    >
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem] lg:grid-rows-[auto_1fr]">
        <div className="min-w-0 space-y-4 max-lg:order-1 lg:row-span-2">
          <Tabs label={t.sections}>
            {TABS.map((one) => (
              <Tab key={one} to={`/contacts/${id}`} search={{ tab: one === 'timeline' ? '' : one }} current={tab === one} stays>
                {t.tabs[one]}
              </Tab>
            ))}
          </Tabs>
          {tab === 'timeline' && <Timeline contact={id} />}
          {tab === 'mails' && (
            <div className="space-y-6">
              <Standing contact={id} />
              <Mails contact={id} />
            </div>
          )}
          {tab === 'consent' && <Consent contact={id} />}
          {tab === 'places' && <Places contact={id} />}
        </div>
        <Profile contact={shown} />
        <div className="min-w-0 max-lg:order-2">
          <DataEditor contact={shown} />
        </div>
      </div>
    </Page>
  );
}
