import type { Intervention, Site } from './queries';

/** Which mail of the project is meant: that to a domain, to a site, or all of it. */
export interface Scope {
  domain?: string;
  site?: string;
}

type Scoped = Pick<Intervention, 'domain' | 'site' | 'kind' | 'byOperator'>;

/** Whether an intervention means exactly this mail. */
export function isFor({ domain, site }: Pick<Scoped, 'domain' | 'site'>, scope: Scope): boolean {
  return (domain ?? undefined) === scope.domain && (site ?? undefined) === scope.site;
}

/** The pauses that mail to a domain waits for: those of the domain, of the site that takes its mail, and of everything. */
export function pausesOf<I extends Scoped>(all: readonly I[], { domain, site }: Pick<Site, 'domain' | 'site'>): I[] {
  return all.filter(
    (one) => one.kind === 'PAUSE' && (!one.domain || one.domain === domain) && (!one.site || one.site === site),
  );
}

/** What can be asked for in a row or for all: to pause, to go on, or to give up. */
export type Wish<I> = { what: 'pause' | 'expire'; scope: Scope } | { what: 'end'; scope: Scope; ends: I };

/** What can be wished of the mail of a scope: a pause of the project's own that means exactly it can be ended. */
export function wishesFor<I extends Scoped>(all: readonly I[], scope: Scope): Wish<I>[] {
  const own = all.find((one) => one.kind === 'PAUSE' && !one.byOperator && isFor(one, scope));
  return [own ? { what: 'end', scope, ends: own } : { what: 'pause', scope }, { what: 'expire', scope }];
}
