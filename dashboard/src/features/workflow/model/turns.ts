/** How many requests are made at once. */
const AT_ONCE = 6;

/** Does something for each item, a few at once. Stops at the first failure, and throws it. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    await Promise.all(items.slice(at, at + AT_ONCE).map(work));
  }
}
