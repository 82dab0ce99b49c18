import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

// texts are those of the page's language
Object.assign(globalThis, { document: { documentElement: { lang: 'de' } } });
const { t: exits } = await import('../../src/features/workflow/execution/exit-texts.ts');
const { exitReasonText } = await import('../../src/features/workflow/execution/exit-reason.ts');
const { t: reception } = await import('../../src/features/delivery/reception-texts.ts');
const { receptionText } = await import('../../src/features/delivery/reception.ts');
const { t: policies } = await import('../../src/features/dmarc/reason-texts.ts');
const { reasonText } = await import('../../src/features/dmarc/reason.ts');
const { t: hits } = await import('../../src/features/email/why-texts.ts');
const { whyText } = await import('../../src/features/email/why.ts');

/** The parts of the service that say what catalogues have as keys. */
const SAYS = [
  'app/src/automation/engine/batch.rs',
  'app/src/automation/execution.rs',
  'app/src/feedback/dmarc/figures.rs',
  'core/src/dmarc.rs',
  'core/src/hit/reason.rs',
  'core/src/reputation.rs',
  'core/src/workflow/advance.rs',
  'core/src/workflow/config/mod.rs',
  'store/src/automation/execution.rs',
];
const said = SAYS.map((file) => readFileSync(new URL(`../../../crates/${file}`, import.meta.url), 'utf8')).join('\n');

test('what is put in our words is what the service says', () => {
  const words = [...Object.keys(exits), ...Object.keys(reception), ...Object.keys(hits.reasons), ...Object.keys(policies.reasons)];
  assert.deepEqual(words.filter((word) => !said.includes(`"${word}"`)), []);
  // beginnings of values
  assert.deepEqual(Object.keys(policies.parts).filter((word) => !said.includes(`"${word}`)), []);
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

test('why no stricter policy is proposed is told with the values of the service', () => {
  const told = [
    ['There is no stricter policy.', 'Eine strengere Richtlinie gibt es nicht.'],
    ['Reports of at least 14 days are needed.', 'Es braucht Berichte von mindestens 14 Tagen.'],
    ['Reports of at least 2 receivers in the last 14 days are needed.', 'Es braucht Berichte von mindestens 2 Empfängern in den letzten 14 Tagen.'],
    ['Reports of at least 100 mails in the last 14 days are needed.', 'Es braucht Berichte über mindestens 100 Mails in den letzten 14 Tagen.'],
    ['12 % of the mail of source 192.0.2.1 is not aligned.', '12 % der Mails von Quelle 192.0.2.1 passen nicht zur Domain.'],
    ['Less than 1 % of the mail of other sources is not aligned.', 'Weniger als 1 % der Mails von anderen Quellen passen nicht zur Domain.'],
    ["The domain's DMARC record is not one that receivers understand.", 'Den DMARC-Eintrag der Domain verstehen Empfänger nicht.'],
  ] as const;
  for (const [theirs, ours] of told) assert.equal(reasonText(theirs), ours);
  for (const other of ['Something new.', '']) assert.equal(reasonText(other), other);
});
