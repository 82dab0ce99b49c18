import { EditorState } from '@codemirror/state';
import { language } from '#/i18n/language';

/** What the code editor says by itself, in German. */
const GERMAN = {
  '$ unchanged lines': '$ unveränderte Zeilen',
  'Control character': 'Steuerzeichen',
  'Fold line': 'Zeile einklappen',
  'Unfold line': 'Zeile ausklappen',
  'folded code': 'eingeklappter Code',
  unfold: 'ausklappen',
  to: 'bis',
  Find: 'Suchen',
  Replace: 'Ersetzen',
  next: 'nächste',
  previous: 'vorige',
  all: 'alle',
  'match case': 'Groß-/Kleinschreibung',
  regexp: 'regulärer Ausdruck',
  'by word': 'ganze Wörter',
  replace: 'ersetzen',
  'replace all': 'alle ersetzen',
  close: 'schließen',
  'current match': 'aktueller Treffer',
  'on line': 'in Zeile',
  'replaced $ matches': '$ Treffer ersetzt',
  'replaced match on line $': 'Treffer in Zeile $ ersetzt',
  Completions: 'Vorschläge',
  Diagnostics: 'Befunde',
  'No diagnostics': 'Keine Befunde',
  'Go to line': 'Gehe zu Zeile',
  go: 'los',
};

/** The words of the code editor in the language of the page. */
export const phrases = EditorState.phrases.of(language === 'de' ? GERMAN : {});
