import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { queries } from '#/api/query';
import { sessions } from '#/features/user/queries';
import { signOut } from '#/features/user/session';
import { Button } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Tag } from '#/ui/status';
import { type Column, Table } from '#/ui/table';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { programOf } from './program';
import { t } from './texts';

type Session = Schemas['SessionView'];

/** Where the account is signed in, and ending that. */
export function Sessions() {
  const [busy, setBusy] = useState<string>();
  const { data, error, refetch } = useQuery(sessions);
  const others = data?.filter((one) => !one.current) ?? [];
  const end = async (name: string, all: readonly Session[]) => {
    setBusy(name);
    try {
      for (const { id } of all) await call(api.DELETE('/users/@me/sessions/{id}', { params: { path: { id } } }));
      done(all.length > 1 ? t.othersEnded : t.sessionEnded);
    } catch (reason) {
      failed(reason);
    } finally {
      await queries.invalidateQueries({ queryKey: sessions.queryKey });
      setBusy(undefined);
    }
  };
  const columns: Column<Session>[] = [
    {
      name: t.program,
      cell: (one) => (
        <div title={one.client ?? undefined}>
          {one.client ? programOf(one.client) : t.unknownProgram} {one.current && <Tag>{t.thisOne}</Tag>}
        </div>
      ),
    },
    { name: t.lastUsed, cell: (one) => (one.lastUsedAt ? <Time at={one.lastUsedAt} /> : t.now) },
    { name: t.signedIn, cell: (one) => <Time at={one.createdAt} />, wideOnly: true },
    { name: t.ends, cell: (one) => <Time at={one.expiresAt} />, wideOnly: true },
    {
      name: t.actions,
      hideName: true,
      right: true,
      cell: (one) =>
        one.current ? (
          <Button size="small" onClick={() => void signOut()}>
            {t.signOut}
          </Button>
        ) : (
          <Button
            size="small"
            busy={busy === one.id}
            aria-label={t.endThis(one.client ? programOf(one.client) : t.unknownProgram)}
            onClick={() => void end(one.id, [one])}
          >
            {t.end}
          </Button>
        ),
    },
  ];
  return (
    <Section
      title={t.sessions}
      lead={t.sessionsText}
      actions={
        others.length > 1 && (
          <Button busy={busy === 'all'} onClick={() => void end('all', others)}>
            {t.endOthers}
          </Button>
        )
      }
    >
      {error && !data ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton rows={3} />
      ) : (
        <Table label={t.sessions} columns={columns} rows={data} rowKey={(one) => one.id} />
      )}
    </Section>
  );
}
