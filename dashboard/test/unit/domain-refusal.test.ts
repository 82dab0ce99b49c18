import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

// texts are those of the page's language
Object.assign(globalThis, { document: { documentElement: { lang: 'de' } } });
const { ApiError, errorOf } = await import('../../src/api/error.ts');
const { inOurWords } = await import('../../src/features/domain/refusal.ts');

/** The parts of the service that refuse domains. */
const said = ['app/src/sending/domain/claim.rs', 'api/src/error/kinds.rs']
  .map((file) => readFileSync(new URL(`../../../crates/${file}`, import.meta.url), 'utf8'))
  .join('\n');

/** What a person reads of a refusal: the text of the whole, and that of the field. */
function told(status: number, error: object): [string, string | undefined] {
  const shown = inOurWords(errorOf({ error: { message: 'In English.', requestId: '7', ...error } }, new Response(null, { status })));
  assert.ok(shown instanceof ApiError);
  assert.equal(shown.status, status);
  return [shown.message, shown.issues[0]?.message];
}
const ofField = (code: string) => told(422, { code: 'VALIDATION_ERROR', errors: [{ field: 'domain', code, message: 'Of the field.' }] });

test('domains that are refused are refused in German', () => {
  for (const word of ['public_suffix', 'mailbox_provider', 'domain_refused']) assert.ok(said.includes(`"${word}"`), word);
  assert.ok(ofField('public_suffix')[1]?.startsWith('Unter diesem Namen kann sich jeder'));
  assert.ok(ofField('mailbox_provider')[1]?.startsWith('Diese Domain gehört einem Anbieter von Postfächern'));
  const [text] = told(403, { code: 'FORBIDDEN', details: { reason: 'domain_refused' } });
  assert.ok(text.startsWith('Diese Domain kann nicht hinzugefügt werden.'));
});

test('what the service says otherwise stays as it says it', () => {
  assert.deepEqual(ofField('invalid_string'), ['In English.', 'Of the field.']);
  assert.deepEqual(ofField('constructor'), ['In English.', 'Of the field.']);
  assert.deepEqual(told(403, { code: 'FORBIDDEN' }), ['In English.', undefined]);
  assert.deepEqual(told(403, { code: 'FORBIDDEN', details: { reason: 'something_new' } }), ['In English.', undefined]);
  const other = new Error('Something else');
  assert.equal(inOurWords(other), other);
});
