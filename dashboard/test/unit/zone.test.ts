import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoneFile } from '../../src/features/domain/zone.ts';

const record = { found: [] as string[], required: true, status: 'missing' as const };

test('records are lines of a zone file', () => {
  const long = `v=DKIM1; k=rsa; p=${'A'.repeat(400)}`;
  const lines = zoneFile([
    { ...record, type: 'TXT', purpose: 'dkim', name: 'a._domainkey.example.com', value: long },
    { ...record, type: 'TXT', purpose: 'dmarc', name: '_dmarc.example.com', value: 'v=DMARC1; p="none\\"' },
    { ...record, type: 'CNAME', purpose: 'tracking', name: 'track.example.com', value: 'mail.example.net' },
    { ...record, type: 'MX', purpose: 'inbound', name: 'example.com', value: 'mx.example.net.', priority: 20 },
  ]).split('\n');
  assert.equal(lines.length, 6);
  const strings = [...(lines[0] ?? '').matchAll(/"([^"]*)"/g)].map((found) => found[1] ?? '');
  assert.ok(strings.every((text) => text.length <= 255));
  assert.equal(strings.join(''), long);
  assert.equal(lines[1], '_dmarc.example.com. IN TXT "v=DMARC1; p=\\"none\\\\\\""');
  // these change where visitors and mail go
  assert.ok(lines[2]?.startsWith('; For tracked links'));
  assert.equal(lines[3], ';track.example.com. IN CNAME mail.example.net.');
  assert.equal(lines[4], '; Only if mail for the domain is to come to this instance.');
  assert.equal(lines[5], ';example.com. IN MX 20 mx.example.net.');
});
