import { texts } from '#/i18n/language';

/** The texts of forms that are kept until they are saved. */
export const t = texts({
  en: {
    leave: 'What you changed here is not saved. Leave it?',
    changedElsewhere: 'This was changed elsewhere meanwhile. What you have not saved is kept; if you save, yours takes the place of theirs.',
    showStored: 'Discard mine and show theirs',
  },
  de: {
    leave: 'Was du hier geändert hast, ist nicht gespeichert. Trotzdem verlassen?',
    changedElsewhere: 'Das wurde inzwischen anderswo geändert. Was du noch nicht gespeichert hast, bleibt; wenn du speicherst, ersetzt deines das andere.',
    showStored: 'Meines verwerfen und das andere zeigen',
  },
});
