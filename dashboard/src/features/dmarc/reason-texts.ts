import { texts } from '#/i18n/language';

/** Why a stricter policy is not proposed yet, by the sentences of the service, with its names for the values in them. */
export const t = texts({
  en: {
    reasons: {
      'There is no stricter policy.': () => 'There is no stricter policy.',
      'Reports of at least {DAYS} days are needed.': (days) => `Reports of at least ${days} days are needed.`,
      'Reports of at least {FEWEST_REPORTERS} receivers in the last {DAYS} days are needed.': (reporters, days) =>
        `Reports of at least ${reporters} receivers in the last ${days} days are needed.`,
      'Reports of at least {FEWEST_MESSAGES} mails in the last {DAYS} days are needed.': (mails, days) =>
        `Reports of at least ${mails} mails in the last ${days} days are needed.`,
      '{share} of the mail of {} is not aligned.': (share, source) => `${share} of the mail of ${source} is not aligned.`,
      "The domain's DMARC record is not known: it was not looked up, or there was no answer.": () =>
        'The domain’s DMARC record is not known: it was not looked up, or there was no answer.',
      "The domain's DMARC record is not one that receivers understand.": () =>
        'The domain’s DMARC record is not one that receivers understand.',
    } as Record<string, (...values: string[]) => string>,
    parts: { 'Less than 1 %': 'Less than 1 %', 'other sources': 'other sources', 'source ': 'source ' },
  },
  de: {
    reasons: {
      'There is no stricter policy.': () => 'Eine strengere Richtlinie gibt es nicht.',
      'Reports of at least {DAYS} days are needed.': (days) => `Es braucht Berichte von mindestens ${days} Tagen.`,
      'Reports of at least {FEWEST_REPORTERS} receivers in the last {DAYS} days are needed.': (reporters, days) =>
        `Es braucht Berichte von mindestens ${reporters} Empfängern in den letzten ${days} Tagen.`,
      'Reports of at least {FEWEST_MESSAGES} mails in the last {DAYS} days are needed.': (mails, days) =>
        `Es braucht Berichte über mindestens ${mails} Mails in den letzten ${days} Tagen.`,
      '{share} of the mail of {} is not aligned.': (share, source) => `${share} der Mails von ${source} passen nicht zur Domain.`,
      "The domain's DMARC record is not known: it was not looked up, or there was no answer.": () =>
        'Der DMARC-Eintrag der Domain ist nicht bekannt: Er wurde noch nicht gesucht, oder es kam keine Antwort.',
      "The domain's DMARC record is not one that receivers understand.": () =>
        'Den DMARC-Eintrag der Domain verstehen Empfänger nicht.',
    } as Record<string, (...values: string[]) => string>,
    parts: { 'Less than 1 %': 'Weniger als 1 %', 'other sources': 'anderen Quellen', 'source ': 'Quelle ' },
  },
});
