import { useQuery } from '@tanstack/react-query';
import { useIsAdmin, useProject } from '#/features/project/open';
import { setupState } from '#/features/project/queries';
import { config } from '#/features/user/queries';
import { flag, useSearchState } from '#/router';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { Invoices } from './Invoices';
import { LimitsForm } from './LimitsForm';
import { limits } from './queries';
import { Subscription } from './Subscription';
import { t } from './texts';
import { Usage } from './Usage';

/** The payment service leads back with one of these. */
const SEARCH = { success: flag, canceled: flag };
/** How often it is asked whether the payment has arrived, in milliseconds. */
const LOOK_MS = 2_000;

/** What the project used in this month, what it may use, and how that is paid. */
export default function BillingTab() {
  const project = useProject();
  const isAdmin = useIsAdmin();
  const instance = useQuery(config);
  const [{ success, canceled }] = useSearchState(SEARCH);
  const state = useQuery({
    ...setupState(project.id),
    refetchInterval: ({ state: { data } }) => (success && data && !data.hasSubscription ? LOOK_MS : false),
  });
  const caps = useQuery(limits(project.id));
  const failed = [instance, state, caps].find((one) => one.error && !one.data);
  if (failed) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!instance.data || !state.data || !caps.data) return <Skeleton rows={8} />;
  const isBilled = instance.data.features.billing.enabled;
  const { hasSubscription } = state.data;
  return (
    <>
      <div role="status">
        {isBilled && success && (
          <Banner tone={hasSubscription ? 'good' : 'accent'}>{hasSubscription ? t.paid : t.awaited}</Banner>
        )}
        {isBilled && canceled && !hasSubscription && <Banner tone="muted">{t.canceled}</Banner>}
      </div>
      {isBilled && !isAdmin && <Banner tone="muted">{t.adminsPay}</Banner>}
      {isBilled ? (
        <Subscription isSubscribed={hasSubscription} mayPay={isAdmin} />
      ) : (
        <Banner tone="muted">
          <p className="font-medium">{t.notBilled}</p>
          <p>{t.notBilledText}</p>
        </Banner>
      )}
      <Section title={t.usage} lead={hasSubscription || !isBilled ? t.usageText : t.freeText}>
        <Usage limits={caps.data} isShared={isBilled && !hasSubscription} />
      </Section>
      {isBilled && hasSubscription && <LimitsForm limits={caps.data} locked={!isAdmin || project.disabled} />}
      {/* the currency stays when a subscription ends, and so do its invoices */}
      {isBilled && (hasSubscription || caps.data.currency) && <Invoices />}
    </>
  );
}
