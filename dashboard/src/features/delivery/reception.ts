import { t } from './reception-texts.ts';

/**
 * What the service says about how a project's mail is received, in our words: each sentence by itself, as `levels` does not
 * tell all of them, and several as the reason of a suspension. What an operator wrote stays.
 */
export function receptionText(said: string): string {
  return Object.entries(t).reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), said);
}
