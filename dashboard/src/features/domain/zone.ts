import type { DnsRecord } from './queries';

/** The most characters of one string of a TXT record (RFC 1035 section 3.3). */
const STRING = 255;

/** Records as lines of a zone file (RFC 1035 section 5). Long texts are split into strings. */
export function zoneFile(records: readonly DnsRecord[]): string {
  return records.map((record) => `${record.name}. IN ${record.type} ${data(record)}`).join('\n');
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
