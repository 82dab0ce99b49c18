import { queryOptions } from '@tanstack/react-query';
import { api, call, currentProject, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { successors } from './keys';

/** A sender domain. */
export type Domain = Schemas['DomainView'];
/** A DNS record of a domain. */
export type DnsRecord = Schemas['RecordView'];
/** A domain at a provider that signs mail. */
export type Identity = Domain['identities'][number];

/** The sender domains of the project. */
export const domains = () =>
  queryOptions({
    queryKey: projectKey('domains'),
    queryFn: ({ signal }) =>
      call(api.GET('/domains/project/{projectId}', { params: { path: { projectId: currentProject() } }, signal })),
  });

/** The names of the domains that mails can be sent from. */
export const senderDomains = () => ({
  ...domains(),
  select: (all: Domain[]) => all.filter((domain) => domain.verified).map((domain) => domain.domain),
});

/** Whether a domain may send although nobody looked for the record that it needs: mail is captured, or the operator vouches. */
export const isUnproven = (domain: Domain): boolean =>
  domain.verified && domain.records.some((record) => record.required && record.status === 'unchecked');

/** Whether a check may soon find what is awaited: the domain is not verified, or new keys wait for their records. */
export const isAwaited = (domain: Domain): boolean => !domain.verified || successors(domain.records).length > 0;

/** Takes what the service says of a domain for what is known of it. */
export function keep(found: Domain): void {
  queries.setQueryData(domains().queryKey, (before) => before?.map((other) => (other.id === found.id ? found : other)));
}

/** Looks at the DNS of a domain now. */
export function check(id: string): Promise<Domain> {
  return call(api.GET('/domains/{id}/verify', { params: { path: { id } } }));
}
