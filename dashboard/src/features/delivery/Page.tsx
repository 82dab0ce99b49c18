import { useState } from 'react';
import { DomainTable } from '#/features/analytics/DomainTable';
import { useProject } from '#/features/project/open';
import { Page } from '#/ui/page';
import { dayIn, instants, periodOf } from '#/ui/period';
import { Health } from './Health';
import { Held } from './Held';
import { Interventions } from './Interventions';
import { MailTable } from './MailTable';
import { Sites } from './Sites';
import { States } from './States';
import { t } from './texts';

/** What waits, what is stuck and why, and how the project's mail is received. */
export default function DeliveryPage() {
  const { timezone } = useProject();
  const [today] = useState(() => dayIn(timezone));
  const week = instants(periodOf('7d', today) ?? { from: today, to: today }, timezone);
  return (
    <Page title={t.title} full lead={t.lead}>
      <States />
      <Held />
      <Interventions />
      <Sites />
      <MailTable status="PENDING" title={t.waiting} lead={t.waitingText} />
      <MailTable status="IN_DOUBT" title={t.inDoubt} lead={t.inDoubtText} />
      <MailTable status="FAILED" title={t.failed} lead={t.failedText} />
      <Health />
      <DomainTable span={week} />
    </Page>
  );
}
