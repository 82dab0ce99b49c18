import type { Schemas } from '#/api/client';
import { t } from './texts';

/** What an action is called; one that is not known yet keeps its own name. */
export function actionName(action: string): string {
  return t.actions[action] ?? action;
}

/** Who did something. */
export function actorName(actor: Schemas['ActorView']): string {
  if (actor.type === 'user') return actor.name ?? t.user;
  if (actor.type === 'key') return actor.name ? t.key(actor.name) : t.ownKey;
  return actor.type === 'operator' ? t.operator : t.service;
}
