import { texts } from '#/i18n/language';

/** The texts of the code editor. */
export const t = texts({
  en: { html: 'HTML of the mail', mjml: 'MJML of the mail' },
  de: { html: 'HTML der Mail', mjml: 'MJML der Mail' },
});
