import type { Schemas } from '#/api/client';
import { t } from './why-texts.ts';

type Hit = Pick<Schemas['CursorPage_HitView']['data'][number], 'reason' | 'why'>;

/** Whose machine it is stands in the sentence of the service alone. */
const OWNER = /^(.+) fetche[sd] |(?:belongs to|that of|those of) (.+)\.$/;

/** Why a hit counts as a person's or a machine's; empty while that is judged. */
export function whyText({ reason, why }: Hit): string {
  if (!reason) return '';
  const [, first, last] = OWNER.exec(why ?? '') ?? [];
  const owner = first ?? last ?? '';
  const name = Object.hasOwn(t.owners, owner) ? t.owners[owner as keyof typeof t.owners] : owner;
  return t.reasons[reason](name && ` (${name})`);
}
