import { texts } from '#/i18n/language';

/** The texts of proving who one is. */
export const t = texts({
  en: {
    password: 'Your password',
    proofHint: 'You signed in a while ago, so this needs your password.',
    code: 'Code',
    codeHint: 'From your authenticator app, or one of your recovery codes.',
  },
  de: {
    password: 'Dein Passwort',
    proofHint: 'Deine Anmeldung ist eine Weile her, deshalb braucht das dein Passwort.',
    code: 'Code',
    codeHint: 'Aus deiner Authenticator-App, oder einer deiner Wiederherstellungscodes.',
  },
});
