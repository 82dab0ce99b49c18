import { t } from './reason-texts.ts';

/** Each sentence as a pattern. Its constants, in capitals, are numbers. */
const PATTERNS = Object.entries(t.reasons).map(([sentence, say]) => {
  const escaped = sentence.replaceAll(/[.()]/g, '\\$&');
  const pattern = escaped.replaceAll(/\{(\w*)\}/g, (_, name: string) => (/^[A-Z_]+$/.test(name) ? '(\\d+)' : '(.+)'));
  return { pattern: new RegExp(`^${pattern}$`), say };
});

/** A value of a sentence in our words: the service names sources, and shares below one percent. */
function inOurWords(value: string): string {
  return Object.entries(t.parts).reduce((text, [theirs, ours]) => (text.startsWith(theirs) ? text.replace(theirs, ours) : text), value);
}

/** Why a stricter policy is not proposed, in our words. What the service says otherwise stays. */
export function reasonText(said: string): string {
  for (const { pattern, say } of PATTERNS) {
    const found = pattern.exec(said);
    if (found) return say(...found.slice(1).map(inOurWords));
  }
  return said;
}
