import type { Schemas } from '#/api/client';
import { texts } from '#/i18n/language';

type Found = Schemas['MailProblem'];

/** What may be wrong with a mail, in German. What the template language or MJML finds stays as the service says it. */
const GERMAN: Readonly<Record<string, string>> = {
  unknown_variable: 'Kein Kontakt hat dieses Feld. Berichtige den Namen, oder sende den Wert mit der Mail:',
  unknown_topic: 'Das Thema gibt es nicht.',
  no_unsubscribe_link: 'Die Mail hat keinen Link, über den sich Empfänger abmelden können.',
  constant_condition: 'Eine Bedingung hängt von nichts ab, deshalb bekommen alle dasselbe. Lege fest, was entscheidet.',
  dead_link: 'Eine Schaltfläche oder ein Link hat kein Ziel. Trage es ein, oder entferne sie.',
  no_alt: 'Ein Bild hat keinen Alternativtext.',
  insecure_link: 'Ein Link beginnt mit http://, also ohne Verschlüsselung.',
  clipped: 'Die Mail hat mehr als 102 KB. Gmail zeigt davon nur den Anfang.',
};

/** The name that a text of the service has between backticks. */
const nameIn = (text: string): string => /`(.*)`/.exec(text)?.[1] ?? '';

/** What is wrong with a mail, in words. */
export const t = texts({
  // the service's own words are English
  en: { words: (problem: Found) => problem.message },
  de: {
    words: (problem: Found) => {
      const text = GERMAN[problem.code] ?? problem.message;
      return problem.code === 'unknown_variable' ? `${text} \`${nameIn(problem.message)}\`` : text;
    },
  },
});
