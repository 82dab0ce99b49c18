import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

// texts are those of the page's language
Object.assign(globalThis, { document: { documentElement: { lang: 'de' } } });
const { t: exits } = await import('../../src/features/workflow/execution/exit-texts.ts');
const { exitReasonText } = await import('../../src/features/workflow/execution/exit-reason.ts');
const { t: reception } = await import('../../src/features/delivery/reception-texts.ts');
const { receptionText } = await import('../../src/features/delivery/reception.ts');
const { t: hits } = await import('../../src/features/email/why-texts.ts');
const { whyText } = await import('../../src/features/email/why.ts');

/** The parts of the service that say what catalogues have as keys. */
const SAYS = [
  'app/src/automation/engine/batch.rs',
  'app/src/automation/execution.rs',
  'core/src/hit/reason.rs',
  'core/src/reputation.rs',
  'core/src/workflow/advance.rs',
  'core/src/workflow/config/mod.rs',
  'store/src/automation/execution.rs',
];
const said = SAYS.map((file) => readFileSync(new URL(`../../../crates/${file}`, import.meta.url), 'utf8')).join('\n');

test('what is put in our words is what the service says', () => {
  const words = [...Object.keys(exits), ...Object.keys(reception), ...Object.keys(hits.reasons)];
  assert.deepEqual(words.filter((word) => !said.includes(`"${word}"`)), []);
});

test('codes and sentences of the service are told in German, and what people wrote as they did', () => {
  assert.equal(exitReasonText('goal'), 'Ziel erreicht');
  assert.equal(exitReasonText('The step does not exist any more.'), 'Den Schritt gibt es nicht mehr.');
  for (const own of ['Has bought already', 'constructor', '']) assert.equal(exitReasonText(own), own);

  const both = "Too many of the project's mails bounce. Too many recipients complain about the project's mails.";
  assert.equal(receptionText(both), 'Zu viele Mails des Projekts sind unzustellbar. Zu viele Empfänger beschweren sich über Mails des Projekts.');
  assert.equal(receptionText('We asked you twice.'), 'We asked you twice.');
});

test('whose machine opened a mail is taken from the sentence of the service', () => {
  const told = [
    ['image-proxy', 'Gmail fetches images when a person opens the mail.', 'Ein Proxy (Gmail) holt'],
    ['prefetch', 'Apple Mail Privacy Protection fetched the images within seconds of the delivery.', 'Ein Proxy (Apple Mail Privacy Protection) hat'],
    ['address', 'The address belongs to Symantec Email Security.cloud.', 'gehört einer Maschine (Symantec Email Security.cloud).'],
    ['agent', 'The user agent is that of a bot.', 'einer Maschine (Bot).'],
    ['address-and-agent', 'The address and the user agent are those of a machine.', 'sind die einer Maschine.'],
    ['trap', 'An invisible link was followed.', 'Ein unsichtbarer Link wurde angeklickt.'],
  ] as const;
  for (const [reason, why, words] of told) assert.ok(whyText({ reason, why }).includes(words), whyText({ reason, why }));
  assert.equal(whyText({ reason: null, why: null }), '');
});
