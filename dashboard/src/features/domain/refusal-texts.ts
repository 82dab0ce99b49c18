import { texts } from '#/i18n/language';

/** Why a domain cannot be added, in German, by the word that the service has for it. */
const GERMAN: Readonly<Record<string, string>> = {
  public_suffix: 'Unter diesem Namen kann sich jeder Domains registrieren. Füge deine eigene Domain hinzu.',
  mailbox_provider: 'Diese Domain gehört einem Anbieter von Postfächern, in dessen DNS du keine Einträge anlegen kannst. Füge eine eigene Domain hinzu. Ist es deine, bitte den, der diese Instanz betreibt, sie zuzulassen.',
  domain_refused: 'Diese Domain kann nicht hinzugefügt werden. Ist es deine, bitte den, der diese Instanz betreibt, sie zuzulassen.',
};

/** Why a domain cannot be added, in words. */
export const t = texts({
  // the service's own words are English
  en: { words: (_word: string | undefined, theirs: string) => theirs },
  de: {
    words: (word: string | undefined, theirs: string) => (word && Object.hasOwn(GERMAN, word) ? GERMAN[word] : undefined) ?? theirs,
  },
});
