import type { Domain } from '#/features/domain/queries';

/** What is to be done so that receivers report about a domain. */
export type Asking =
  /** Nothing can be done: the instance takes no reports. */
  | { what: 'unsupported' }
  /** There is no record that receivers understand: this one is to be published. */
  | { what: 'publish'; name: string; value: string }
  /** There is a record that asks for reports to elsewhere, or for none: this one is to be put in its place. */
  | { what: 'replace'; name: string; value: string }
  /** Nothing: reports are asked for. */
  | { what: 'wait' };

/** The tag of a DMARC record that says where reports go (RFC 7489 section 6.3). */
const REPORTS = /(^|;)\s*rua\s*=\s*([^;]*)/i;

const policyRecord = (domain: Pick<Domain, 'records'>) => domain.records.find((record) => record.purpose === 'dmarc');

/** Where reports about a domain are to go, such as `mailto:dmarc-…@bounces.example.net`; undefined where they are not taken. */
export function reportAddress(domain: Pick<Domain, 'records'>): string | undefined {
  return REPORTS.exec(policyRecord(domain)?.value ?? '')?.[2]?.trim();
}

/** What is to be done so that reports about a domain come here, by what the last check found of its DMARC record. */
export function asking(domain: Pick<Domain, 'records'>): Asking {
  const record = policyRecord(domain);
  const address = reportAddress(domain);
  if (!record || !address) return { what: 'unsupported' };
  const [published] = record.found;
  if (record.status !== 'found' || published === undefined) return { what: 'publish', name: record.name, value: record.value };
  const others = REPORTS.exec(published)?.[2]?.trim();
  const asked = others?.toLowerCase().split(/\s*,\s*/) ?? [];
  // a size may stand behind an address: `mailto:…!10m`
  if (asked.some((one) => one.replace(/!\d+[kmgt]?$/, '') === address.toLowerCase())) return { what: 'wait' };
  const value = others
    ? published.replace(REPORTS, `$1 rua=${others},${address}`).trim()
    : `${published.replace(REPORTS, '').replace(/[;\s]+$/, '')}; rua=${address}`;
  return { what: 'replace', name: record.name, value };
}

/** Whose mail a source brings: this service's, that of another one that sends rightly for the domain, or somebody else's. */
export function whose(source: { isOurs: boolean; aligned: number }): 'ours' | 'yours' | 'unknown' {
  if (source.isOurs) return 'ours';
  return source.aligned > 0 ? 'yours' : 'unknown';
}
