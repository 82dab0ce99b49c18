import { Facts, Section } from '#/ui/page';
import { DnsValue } from './DnsValue';
import type { DmarcReports } from './queries';
import { reasonText } from './reason';
import { t } from './texts';

/** The policy of a domain, and the one to go on to, or why not yet. */
export function PolicySection({ domain, policy }: { domain: string; policy: DmarcReports['policy'] }) {
  const { published, proposed, reason } = policy;
  const next = proposed ? (
    <div className="space-y-2">
      <p className="max-w-prose">{t.proposals[proposed.policy]}</p>
      <DnsValue name={`_dmarc.${domain}`} value={proposed.record} />
    </div>
  ) : (
    <p className="max-w-prose">{reason ? reasonText(reason) : t.notYet}</p>
  );
  return (
    <Section title={t.policy} lead={t.policyText}>
      <Facts
        rows={[
          [t.published, published ? t.policies[published] : t.nonePublished],
          [proposed ? t.next : t.notYet, next],
        ]}
      />
    </Section>
  );
}
