import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { useProject } from '#/features/project/open';
import { day, number } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Form, Select, SubmitButton } from '#/ui/form';
import { Facts, Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { failed } from '#/ui/toast';
import { money } from './money';
import { consumption } from './queries';
import { t } from './texts';

/** Subscribing, or what the subscription comes to in this month, with the way to the payment service. */
export function Subscription({ isSubscribed, mayPay }: { isSubscribed: boolean; mayPay: boolean }) {
  const project = useProject();
  const path = { id: project.id };
  const subscribe = async (data: FormData) => {
    const query = { currency: String(data.get('currency')) };
    const { url } = await call(api.POST('/users/@me/projects/{id}/checkout', { params: { path, query } }));
    location.assign(url);
  };
  if (isSubscribed) return <Subscribed mayPay={mayPay} />;
  return (
    <Section title={t.subscription} lead={t.unsubscribedText}>
      {mayPay && (
        <Form onSubmit={subscribe}>
          <div className="flex flex-wrap items-start gap-3">
            <div className="w-40">
              <Select name="currency" label={t.currency} defaultValue="eur">
                <option value="eur">EUR</option>
                <option value="usd">USD</option>
                <option value="gbp">GBP</option>
              </Select>
            </div>
            <SubmitButton className="mt-6 h-9!">{t.subscribe}</SubmitButton>
          </div>
        </Form>
      )}
    </Section>
  );
}

function Subscribed({ mayPay }: { mayPay: boolean }) {
  const project = useProject();
  const [busy, setBusy] = useState(false);
  const { data, error, refetch } = useQuery(consumption(project.id));
  const open = async () => {
    setBusy(true);
    try {
      const params = { path: { id: project.id } };
      location.assign((await call(api.POST('/users/@me/projects/{id}/billing-portal', { params }))).url);
    } catch (reason) {
      failed(reason);
      setBusy(false);
    }
  };
  return (
    <Section
      title={t.subscription}
      lead={t.subscribedText}
      actions={
        mayPay && (
          <Button busy={busy} onClick={() => void open()}>
            {t.portal}
          </Button>
        )
      }
    >
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : (
        <Facts rows={factsOf(data)} />
      )}
    </Section>
  );
}

function factsOf(data: Schemas['BillingConsumption']): (readonly [string, string])[] {
  const { period, usage, upcomingInvoice: next, credits } = data;
  return [
    [t.period, `${day(period.start)} – ${day(period.end)}`],
    [t.units, `${number(usage.total)} ${t.unitsHint}`],
    ...(next ? ([[t.nextInvoice, money(next.total, next.currency)]] as const) : []),
    ...(credits?.hasCredits && credits.currency
      ? ([[t.credits, money(credits.creditAmount, credits.currency)]] as const)
      : []),
  ];
}
