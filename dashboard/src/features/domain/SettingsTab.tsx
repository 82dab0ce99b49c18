import { useQuery } from '@tanstack/react-query';
import { Plus, RefreshCw, Trash2 } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { reportAddress } from '#/features/dmarc/asking';
import { isKept } from '#/features/mailbox/queries';
import { useIsAdmin } from '#/features/project/open';
import { Button, LinkButton, TextLink } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner, Status } from '#/ui/status';
import { done, failed } from '#/ui/toast';
import { AddDomain } from './AddDomain';
import { FormerKeys } from './FormerKeys';
import { Identities } from './Identities';
import { successors } from './keys';
import { NewKeys } from './NewKeys';
import { check, type Domain, domains, isAwaited, isUnproven, keep } from './queries';
import { Records } from './Records';
import { t } from './texts';

/** How often the states of records are read anew while one of them is awaited, in milliseconds. */
const REFRESH_MS = 15_000;

/** The sender domains, their records, and what was found of them. */
export default function DomainsTab() {
  const isAdmin = useIsAdmin();
  const [adding, setAdding] = useState(false);
  const all = useQuery({
    ...domains(),
    refetchInterval: (query) => (query.state.data?.some(isAwaited) ? REFRESH_MS : false),
  });
  const add = isAdmin && (
    <Button variant="primary" onClick={() => setAdding(true)}>
      <Icon of={Plus} size={14} />
      {t.add}
    </Button>
  );
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <p className="max-w-prose text-muted">{t.lead}</p>
        {all.data && all.data.length > 0 && add}
      </div>
      {!isAdmin && <p className="text-muted">{t.adminOnly}</p>}
      {all.error && !all.data ? (
        <Problem error={all.error} onRetry={() => void all.refetch()} />
      ) : !all.data ? (
        <Skeleton rows={6} />
      ) : all.data.length === 0 ? (
        <Empty title={t.empty} action={add}>
          {t.emptyText}
        </Empty>
      ) : (
        all.data.map((domain) => <OneDomain key={domain.id} domain={domain} isAdmin={isAdmin} />)
      )}
      {adding && <AddDomain onClose={() => setAdding(false)} />}
    </div>
  );
}

function OneDomain({ domain, isAdmin }: { domain: Domain; isAdmin: boolean }) {
  const [checking, setChecking] = useState(false);
  const [removing, setRemoving] = useState(false);
  const fresh = successors(domain.records);
  const checkNow = async () => {
    setChecking(true);
    try {
      keep(await check(domain.id));
    } catch (error) {
      failed(error);
    } finally {
      setChecking(false);
    }
  };
  return (
    <Section
      title={domain.domain}
      lead={<Status tone={domain.verified ? 'good' : 'bad'}>{!domain.verified ? t.pending : isUnproven(domain) ? t.mayAnyway : t.verified}</Status>}
      actions={
        <>
          {reportAddress(domain) !== undefined && (
            <LinkButton size="small" to={`/settings/domains/${domain.id}/dmarc`}>
              {t.reports}
            </LinkButton>
          )}
          <Button size="small" busy={checking} onClick={() => void checkNow()}>
            <Icon of={RefreshCw} size={14} />
            {checking ? t.checking : t.check}
          </Button>
          {isAdmin && (
            <>
              <NewKeys domain={domain} />
              <Button size="small" onClick={() => setRemoving(true)}>
                <Icon of={Trash2} size={14} />
                {t.remove}
              </Button>
            </>
          )}
        </>
      }
    >
      {isUnproven(domain) && <Unproven />}
      {fresh.length > 0 && (
        <div className="mb-3">
          <Banner tone="accent">{t.keysWait}</Banner>
        </div>
      )}
      <Records records={domain.records} fresh={fresh} isUnproven={isUnproven(domain)} />
      <FormerKeys keys={domain.formerKeys} />
      <Identities identities={domain.identities} />
      <Confirm
        open={removing}
        onClose={() => setRemoving(false)}
        title={t.removeTitle}
        action={t.remove}
        typed={domain.domain}
        onConfirm={async () => {
          await call(api.DELETE('/domains/{id}', { params: { path: { id: domain.id } } }));
          await queries.invalidateQueries({ queryKey: domains().queryKey });
          done(t.removed);
        }}
      >
        <p>{t.removeText}</p>
      </Confirm>
    </Section>
  );
}

/** Why a domain may send without its records, and what is to be done before mail leaves. */
function Unproven() {
  const kept = useQuery(isKept()).data;
  return (
    <div className="mb-3">
      <Banner tone="accent" action={kept !== false && <TextLink to="/mailbox">{t.toMailbox}</TextLink>}>
        <p>
          {kept === false ? t.vouched : kept ? t.kept : t.keptOrVouched} {kept === false ? t.vouchedThen : t.keptThen}
        </p>
      </Banner>
    </div>
  );
}
