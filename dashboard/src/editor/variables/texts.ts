import { texts } from '#/i18n/language';

/** What the variables are, and the field that completes them. */
export const t = texts({
  en: {
    email: "the recipient's address",
    id: "the contact's id",
    unsubscribeUrl: 'link to unsubscribe',
    manageUrl: 'link to the preferences',
    subscribeUrl: 'link to subscribe again',
    subscribed: 'whether subscribed',
    field: (share: string) => `${share} of contacts have it`,
    insert: 'Insert a variable',
    variables: 'Variables',
    none: 'No variables',
  },
  de: {
    email: 'Adresse der Person',
    id: 'ID des Kontakts',
    unsubscribeUrl: 'Link zum Abmelden',
    manageUrl: 'Link zu den Einstellungen',
    subscribeUrl: 'Link zum erneuten Anmelden',
    subscribed: 'ob angemeldet',
    field: (share: string) => `${share} der Kontakte haben es`,
    insert: 'Variable einfügen',
    variables: 'Variablen',
    none: 'Keine Variablen',
  },
});
