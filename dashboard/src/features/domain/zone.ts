import type { DnsRecord } from './queries';

/** The most characters of one string of a TXT record (RFC 1035 section 3.3). */
const STRING = 255;

const MTA_STS = 'About TLS for mail that comes to this instance. Publish mta-sts before _mta-sts.';

/** Why records are comments: they change where mail or visitors go, or have to be completed first. */
const REMARKS: Partial<Record<DnsRecord['purpose'], string>> = {
  inbound: 'Only if mail for the domain is to come to this instance.',
  tracking: "For tracked links under the domain's own name. The proxy needs a certificate for it first.",
  mta_sts: MTA_STS,
  mta_sts_host: MTA_STS,
  bimi: 'An example. Put the address of your logo in.',
};

/**
 * Records as lines of a zone file (RFC 1035 section 5), as `mailwright domains records --zone` prints them. Long texts are
 * split into strings. What not everybody should publish is a comment, with a line above that says why.
 */
export function zoneFile(records: readonly DnsRecord[]): string {
  return records.map(zoneLine).join('\n');
}

function zoneLine(record: DnsRecord): string {
  const line = `${record.name}. IN ${record.type} ${data(record)}`;
  const remark = REMARKS[record.purpose];
  return remark ? `; ${remark}\n;${line}` : line;
}

function data(record: DnsRecord): string {
  if (record.type === 'TXT') return strings(record.value).join(' ');
  const host = record.value.endsWith('.') ? record.value : `${record.value}.`;
  return record.type === 'MX' ? `${record.priority ?? 10} ${host}` : host;
}

function strings(text: string): string[] {
  const parts = [];
  for (let at = 0; at === 0 || at < text.length; at += STRING) parts.push(text.slice(at, at + STRING));
  return parts.map((part) => `"${part.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`);
}
