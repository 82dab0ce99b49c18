import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asking, reportAddress, whose } from '../../src/features/dmarc/asking.ts';

const OURS = 'mailto:dmarc-abc@bounces.example.net';
const suggested = { type: 'TXT' as const, name: '_dmarc.acme.test', purpose: 'dmarc' as const, required: false };

/** A domain whose suggested record asks for reports here, with what the last check found. */
function domain(status: 'found' | 'missing' | 'mismatch' | 'unchecked', ...found: string[]) {
  return { records: [{ ...suggested, value: `v=DMARC1; p=none; rua=${OURS}`, zone: '', status, found }] };
}

test('a record that asks for reports here is waited for', () => {
  for (const record of [
    `v=DMARC1; p=none; rua=${OURS}`,
    `v=DMARC1;p=reject;rua=mailto:me@example.com, ${OURS.toUpperCase()}!10m; ruf=mailto:me@example.com`,
  ]) {
    assert.deepEqual(asking(domain('found', record)), { what: 'wait' }, record);
  }
});

test('a record that does not ask for them here is changed in its rua alone', () => {
  const cases = [
    ['v=DMARC1; p=quarantine; pct=50', `v=DMARC1; p=quarantine; pct=50; rua=${OURS}`],
    ['v=DMARC1; p=none;', `v=DMARC1; p=none; rua=${OURS}`],
    ['v=DMARC1; p=reject; rua=mailto:me@example.com; adkim=s', `v=DMARC1; p=reject; rua=mailto:me@example.com,${OURS}; adkim=s`],
    ['v=DMARC1;p=reject;RUA = mailto:me@example.com', `v=DMARC1;p=reject; rua=mailto:me@example.com,${OURS}`],
    ['v=DMARC1; p=none; rua=', `v=DMARC1; p=none; rua=${OURS}`],
    ['v=DMARC1; p=none; rua=; adkim=s', `v=DMARC1; p=none; adkim=s; rua=${OURS}`],
  ] as const;
  for (const [found, value] of cases) {
    assert.deepEqual(asking(domain('found', found)), { what: 'replace', name: '_dmarc.acme.test', value }, found);
  }
});

test('what receivers do not understand is replaced by the suggested record', () => {
  const value = `v=DMARC1; p=none; rua=${OURS}`;
  for (const one of [domain('missing'), domain('unchecked'), domain('mismatch', 'v=DMARC1')]) {
    assert.deepEqual(asking(one), { what: 'publish', name: '_dmarc.acme.test', value });
  }
});

test('where the instance takes no reports there is nothing to publish', () => {
  const none = { records: [{ ...suggested, value: 'v=DMARC1; p=none', zone: '', status: 'found' as const, found: ['v=DMARC1; p=none; rua=mailto:me@example.com'] }] };
  assert.equal(reportAddress(none), undefined);
  assert.deepEqual(asking(none), { what: 'unsupported' });
  assert.deepEqual(asking({ records: [] }), { what: 'unsupported' });
  assert.equal(reportAddress(domain('missing')), OURS);
});

test('a source is ours, another sender of the domain, or not known', () => {
  assert.equal(whose({ isOurs: true, aligned: 0 }), 'ours');
  assert.equal(whose({ isOurs: false, aligned: 1 }), 'yours');
  assert.equal(whose({ isOurs: false, aligned: 0 }), 'unknown');
});
