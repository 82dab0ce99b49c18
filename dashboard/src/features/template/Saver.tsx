import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { memberNames } from '#/features/member/queries';
import { useProject } from '#/features/project/open';
import { t } from './texts';

/** Who saved a version, in words. */
export function Saver({ by, plain = false }: { by: Schemas['SaverView'] | undefined; plain?: boolean }) {
  const { data: names } = useQuery(memberNames(useProject().id));
  const kinds: Record<string, string> = { key: t.key, operator: t.operator, service: t.service };
  const who = by?.type === 'user' ? names?.get(by.id ?? '') : kinds[by?.type ?? ''];
  if (plain) return <>{who ?? t.unknown}</>;
  return who ? <span className="text-muted">{t.by(who)}</span> : null;
}
