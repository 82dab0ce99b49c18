import type { Schemas } from '#/api/client';
import { number } from '#/i18n/format';
import { texts } from '#/i18n/language';

type Found = Schemas['ReviewProblem'];
/** A problem, and what its review found missing. */
interface Reviewed {
  problem: Found;
  missing: Schemas['MissingValues'];
}
type Words = (problem: Found, missing: Schemas['MissingValues']) => string;

/** What a review finds, in German. What names a place in the mail, a limit or a DNS record stays as the service says it. */
const GERMAN: Record<Found['code'], Words> = {
  NOT_EDITABLE: () => 'Die Kampagne ist schon gesendet oder wird gerade gesendet.',
  SENDER_UNVERIFIED: () => 'Das Projekt darf von der Domain des Absenders nicht senden: Sie ist nicht verifiziert.',
  INVALID_TEMPLATE: ({ field, message }) => `Fehler in ${field === 'subject' ? 'Betreff' : 'Mail'}: ${message}`,
  INVALID_AUDIENCE: ({ message }) => `Die Empfänger können nicht bestimmt werden: ${message}`,
  EMPTY_AUDIENCE: () => 'Die Kampagne hat keine Empfänger: Kein Kontakt, für den sie gedacht ist, bekäme eine Mail.',
  EMPTY_TOPIC: () => 'Niemand, für den sie gedacht ist, hat das Thema der Kampagne abonniert.',
  UNCOUNTED_AUDIENCE: () => 'Die Empfänger konnten nicht rechtzeitig gezählt werden. Sie werden beim Senden bestimmt.',
  OVER_LIMIT: () => 'Die Kampagne hat mehr Empfänger, als die Limits des Projekts in diesem Monat noch zulassen.',
  NO_UNSUBSCRIBE_LINK: () =>
    'Die Mail hat keine Fußzeile und keinen Link mit {{unsubscribeUrl}} oder {{manageUrl}}: Abmelden geht nur über den Knopf des Mailprogramms.',
  MISSING_VALUES: ({ message }, { sampleSize, variables: [first] }) =>
    first
      ? `Von ${number(sampleSize)} geprüften Empfängern haben ${number(first.count)} keinen Wert für ${first.name}. Schreibe etwas an seine Stelle, etwa {{${first.name} ?? "du"}}.`
      : message,
  CONSTANT_CONDITION: () => 'Eine Bedingung hängt von nichts ab, deshalb bekommen alle dasselbe. Lege fest, was entscheidet.',
  DEAD_LINK: () => 'Eine Schaltfläche oder ein Link hat kein Ziel. Trage es ein, oder entferne sie.',
  CLIPPED: () => 'Die Mail hat mehr als 102 KB. Gmail zeigt davon nur den Anfang.',
  NO_TRACKING_HOST: () => 'Die Domain hat keinen Host für verfolgte Links, deshalb führen sie über den Host des Dienstes. Lege ihren DNS-Eintrag dafür an.',
  NEVER_TESTED: () => 'Die Kampagne wurde noch nie als Test gesendet.',
  CHANGED_SINCE_TEST: () => 'Die Kampagne wurde seit dem letzten Test geändert.',
};

/** What a review finds, in words. */
export const t = texts({
  // the service's own words are English
  en: { words: ({ problem }: Reviewed) => problem.message },
  de: { words: ({ problem, missing }: Reviewed) => GERMAN[problem.code](problem, missing) },
});
