import { useQuery } from '@tanstack/react-query';
import { queries } from '#/api/query';
import { ApiError } from '#/api/error';
import { useParam } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { CampaignPage } from './CampaignPage';
import { campaign } from './queries';
import { t } from './texts';

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(campaign(id));

/** One campaign: written, reviewed, sent, and accounted for. */
export default function DetailPage() {
  const id = useParam('id');
  const { data, error, refetch } = useQuery(campaign(id));
  if (data) return <CampaignPage key={id} stored={data} />;
  const above = <TextLink to="/campaigns">{t.title}</TextLink>;
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Page title={t.notFound} above={above}>
        <Empty title={t.notFound} action={<LinkButton to="/campaigns">{t.title}</LinkButton>} />
      </Page>
    );
  }
  return (
    <Page title="…" above={above} full>
      {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton rows={9} />}
    </Page>
  );
}
