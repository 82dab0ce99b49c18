import { texts } from '#/i18n/language';

/** The texts of creating a project. */
export const t = texts({
  en: {
    create: 'Create a project',
    createText: 'A project has its own contacts, templates, keys and members. Most people have one for each product.',
    name: 'Name',
    namePlaceholder: 'Shop',
    created: 'The project was created.',
    orInvited: 'Somebody has a project already? Ask them to invite you by your e-mail address.',
    back: 'Back',
    account: 'Your account',
    signOut: 'Sign out',
  },
  de: {
    create: 'Projekt anlegen',
    createText:
      'Ein Projekt hat eigene Kontakte, Vorlagen, Schlüssel und Mitglieder. Die meisten haben eines je Produkt.',
    name: 'Name',
    namePlaceholder: 'Shop',
    created: 'Das Projekt wurde angelegt.',
    orInvited: 'Jemand hat schon ein Projekt? Lass dich mit deiner E-Mail-Adresse einladen.',
    back: 'Zurück',
    account: 'Dein Konto',
    signOut: 'Abmelden',
  },
});
