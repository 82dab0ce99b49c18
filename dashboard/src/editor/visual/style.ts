/**
 * A style of a node. What is empty is left out, and so is a value that could be more than one: stored documents and what
 * is pasted come from anybody, and their styles would reach beyond the mail.
 */
export function css(values: Record<string, string | undefined>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && /^[\w#%.,() -]+$/.test(value))
    .map(([name, value]) => `${name}:${value}`)
    .join(';');
}
