import type { DnsRecord } from './queries';

/** What a record says of its key when it does not say of which kind the key is (RFC 6376 section 3.6.1). */
const USUAL = 'rsa';

/**
 * The records of keys that wait to replace others: a domain signs with one key of each kind, and lists the one that it
 * signs with first.
 */
export function successors(records: readonly DnsRecord[]): DnsRecord[] {
  const kinds = new Set<string>();
  return records.filter((record) => {
    if (record.purpose !== 'dkim') return false;
    const kind = /\bk=(\w+)/.exec(record.value)?.[1] ?? USUAL;
    const isSuccessor = kinds.has(kind);
    kinds.add(kind);
    return isSuccessor;
  });
}
