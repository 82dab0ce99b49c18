import { LinkButton } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { t } from './texts';
import { isMissingPart } from './upgrade';

/** A page that does not exist. */
export function NotFound() {
  return (
    <Page title={t.notFound}>
      <Empty title={t.notFoundText} action={<LinkButton to="/">{t.toStart}</LinkButton>} />
    </Page>
  );
}

/** A page whose data or code could not be loaded. */
export function Failed({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <Page title={t.failed}>
      <Problem error={isMissingPart(error) ? new Error(t.missingPart) : error} onRetry={onRetry} />
    </Page>
  );
}
