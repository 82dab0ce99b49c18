import { useQuery } from '@tanstack/react-query';
import { queries } from '#/api/query';
import { ApiError } from '#/api/error';
import { useParam } from '#/router';
import { LinkButton, TextLink } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { template } from './queries';
import { TemplatePage } from './TemplatePage';
import { t } from './texts';

/** Asks for what the page shows. */
export const ask = ({ id = '' }: Record<string, string>) => void queries.prefetchQuery(template(id));

/** One template: writing it, its settings, its versions and its results. */
export default function DetailPage() {
  const id = useParam('id');
  const { data, error, refetch } = useQuery(template(id));
  if (data) return <TemplatePage key={id} stored={data} />;
  const above = <TextLink to="/templates">{t.templates}</TextLink>;
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Page title={t.notFound} above={above}>
        <Empty title={t.notFound} action={<LinkButton to="/templates">{t.templates}</LinkButton>} />
      </Page>
    );
  }
  return (
    <Page title="…" above={above} full>
      {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton rows={9} />}
    </Page>
  );
}
