import { texts } from '#/i18n/language';

/** What is wrong with how a project's mail is received, by the sentences of the service. */
export const t = texts({
  en: {
    "Too many of the project's mails bounce.": 'Too many of the project’s mails bounce.',
    "Too many recipients complain about the project's mails.": 'Too many recipients complain about the project’s mails.',
    "Too many of the project's first mails come back.": 'Too many of the project’s first mails come back.',
  },
  de: {
    "Too many of the project's mails bounce.": 'Zu viele Mails des Projekts sind unzustellbar.',
    "Too many recipients complain about the project's mails.": 'Zu viele Empfänger beschweren sich über Mails des Projekts.',
    "Too many of the project's first mails come back.": 'Zu viele der ersten Mails des Projekts kommen zurück.',
  },
});
