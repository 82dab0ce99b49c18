/** The name of a segment as its events have it: `VIP Users!` becomes `vip-users`. Other letters than ASCII are left out. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .trim()
    .replace(/\s/g, '-')
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');
}
