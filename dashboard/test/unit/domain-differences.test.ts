import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { DnsRecord } from '../../src/features/domain/queries.ts';

// texts are those of the page's language
Object.assign(globalThis, { document: { documentElement: { lang: 'de' } } });
const { t } = await import('../../src/features/domain/difference-texts.ts');
const { t: domain } = await import('../../src/features/domain/texts.ts');

const api = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
const kinds = (schema: string, field: string): string[] =>
  api.components.schemas[schema].properties[field].enum.filter((kind: string | null) => kind !== null);

const key: DnsRecord = {
  type: 'TXT', purpose: 'dkim', name: 'a._domainkey.example.com', value: 'v=DKIM1; p=AA', found: [], required: true, status: 'mismatch',
  difference: 'In English.', zone: '',
};
type Kind = NonNullable<DnsRecord['differenceKind']>;
const said = (kind: string, more: Partial<DnsRecord> = {}) => t.words({ ...key, differenceKind: kind as Kind, ...more });

test('every difference that the service knows is told in German', () => {
  for (const kind of kinds('RecordView', 'differenceKind')) assert.notEqual(said(kind), key.difference, kind);
  assert.deepEqual(Object.keys(domain.identityErrors), kinds('DomainIdentityView', 'errorKind'));
});

test('what a later service knows stays as it says it', () => {
  for (const kind of ['something_new', 'constructor']) assert.equal(said(kind), 'In English.');
  assert.equal(t.words(key), 'In English.');
});

test('the values of the service are in the sentence', () => {
  assert.equal(
    said('doubled', { differenceDetails: { at: '_dmarc.a.test.a.test', enter: '_dmarc' } }),
    'Der Eintrag steht unter _dmarc.a.test.a.test: Der DNS-Dienst hängt die Domain selbst an jeden Namen. Gib dort _dmarc als Namen ein.',
  );
  const spf = { purpose: 'spf', name: 'a.test' } as const;
  const details = { wanted: 'mx', instead: 'v=spf1 mx -all' };
  assert.equal(said('spf_lacks', { ...spf, differenceDetails: details }), 'Im Eintrag fehlt mx. Schreibe stattdessen: v=spf1 mx -all');
  assert.ok(said('spf_lacks', { ...spf, differenceDetails: { ...details, lookUps: '11' } }).includes('hat 11 Angaben'));
  assert.equal(
    said('several', { ...spf, differenceDetails: { count: '2', mechanisms: 'mx' } }),
    'Es gibt 2 Einträge, Empfänger beachten dann keinen davon. Lass einen stehen. Er muss mx enthalten und was in den anderen steht.',
  );
  assert.ok(said('several', { differenceDetails: { count: '2' } }).endsWith('Lass einen stehen.'));
});
