import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { actorName } from '#/features/audit/names';
import { useIsAdmin } from '#/features/project/open';
import { number } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Status, type Tone } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { type Intervention, interventions } from './queries';
import type { Scope, Wish } from './scope';
import { t } from './texts';
import { Wished } from './Wished';

const TONES: Record<Intervention['kind'], Tone> = { PAUSE: 'warn', REROUTE: 'accent', EXPIRE: 'bad', RESUME: 'good' };

const scopeOf = ({ domain, site }: Intervention): Scope => ({ ...(domain ? { domain } : {}), ...(site ? { site } : {}) });

/** Who made an intervention. Only administrators see the names of people and keys. */
function whoMade({ byOperator, begunBy }: Intervention, isAdmin: boolean): string {
  if (byOperator) return t.operator;
  if (isAdmin) return actorName(begunBy);
  return begunBy.type === 'key' ? t.someKey : t.someMember;
}

/** Who made an intervention, and when. */
function Who({ of, isAdmin }: { of: Intervention; isAdmin: boolean }) {
  return (
    <span className="block max-w-52 break-words">
      {whoMade(of, isAdmin)}, <Time at={of.createdAt} />
    </span>
  );
}

/** What is wanted with mail that waits, and who wanted it. Where nothing is, it shows nothing. */
export function Interventions() {
  const all = useQuery(interventions());
  const isAdmin = useIsAdmin();
  const [wish, setWish] = useState<Wish<Intervention>>();
  if (all.error && !all.data) {
    return (
      <Section title={t.interventions}>
        <Problem error={all.error} onRetry={() => void all.refetch()} />
      </Section>
    );
  }
  if (!all.data || all.data.length === 0) return null;
  const who = (one: Intervention) => <Who of={one} isAdmin={isAdmin} />;
  const columns: Column<Intervention>[] = [
    {
      name: t.wanted,
      cell: (one) => (
        <div className="max-w-md min-w-40">
          <p className="flex flex-wrap items-baseline gap-x-2">
            <Status tone={TONES[one.kind]}>{t.kinds[one.kind]}</Status>
            <span className="min-w-0 break-words">{t.mailOf(scopeOf(one))}</span>
          </p>
          {one.transport && <p className="text-meta break-words text-muted">{t.byTransport(one.transport)}</p>}
          {one.reason && <p className="text-meta break-words">{one.reason}</p>}
          <p className="text-meta text-muted sm:hidden">{who(one)}</p>
        </div>
      ),
    },
    { name: t.mails, right: true, cell: (one) => (one.waiting > 0 ? number(one.waiting) : '–') },
    { name: t.by, wideOnly: true, cell: who },
  ];
  if (isAdmin) {
    columns.push({
      name: t.actions,
      hideName: true,
      right: true,
      cell: (one) => {
        if (one.byOperator) return <span className="text-meta text-muted">{t.operatorEnds}</span>;
        const scope = scopeOf(one);
        const label = one.kind === 'PAUSE' ? t.resume : t.end;
        return (
          <Button size="small" aria-label={`${label}: ${t.mailOf(scope)}`} onClick={() => setWish({ what: 'end', scope, ends: one })}>
            {label}
          </Button>
        );
      },
    });
  }
  return (
    <Section title={t.interventions} lead={t.interventionsText}>
      <Table label={t.interventions} rows={all.data} rowKey={(one) => one.id} columns={columns} />
      {wish && <Wished wish={wish} onClose={() => setWish(undefined)} />}
    </Section>
  );
}
