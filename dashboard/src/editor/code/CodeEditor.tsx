import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { html, htmlLanguage } from '@codemirror/lang-html';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { failed } from '#/ui/toast';
import type { MailProblem } from '../check';
import { picturesOf, upload } from '../images/upload';
import { t as problemTexts } from '../problem-texts';
import { useVariables } from '../variables/queries';
import { completeLiquid } from './complete';
import { liquidMarks } from './liquid-marks';
import { withNonce } from './nonce';
import { phrases } from './phrases';
import { MJML_TAGS } from './tags';
import { t } from './texts';
import { codeTheme } from './theme';

/** Uploads pictures that were dropped or pasted, and writes elements for them at the cursor. */
async function addPictures(view: EditorView, files: readonly File[], isMjml: boolean): Promise<void> {
  for (const file of files) {
    try {
      const { url, width } = await upload(file);
      const attributes = `src="${url}" alt="" width="${Math.min(width, 600)}${isMjml ? 'px' : ''}"`;
      view.dispatch(view.state.replaceSelection(isMjml ? `<mj-image ${attributes} />` : `<img ${attributes}>`));
    } catch (error) {
      failed(error);
    }
  }
}

function diagnosticsOf(view: EditorView, problems: readonly MailProblem[], field: string): Diagnostic[] {
  const { doc } = view.state;
  return problems.flatMap((problem) => {
    if (problem.field !== field || !problem.line || problem.line > doc.lines) return [];
    const line = doc.line(problem.line);
    const from = Math.min(line.to, line.from + Math.max(0, (problem.column ?? 1) - 1));
    const severity = problem.severity === 'error' ? 'error' : 'warning';
    return [{ from, to: Math.max(from, line.to), severity, message: problemTexts.words(problem) }];
  });
}

/** The code of a mail: HTML or MJML, with the template language in it. `value` is what it begins with. */
export default function CodeEditor({
  value,
  language,
  problems,
  onChange,
}: {
  value: string;
  language: 'html' | 'mjml';
  problems: readonly MailProblem[];
  onChange: (value: string) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const variables = useVariables();
  const latest = useRef({ onChange, variables, value });
  useEffect(() => {
    latest.current = { onChange, variables, value };
  });

  useEffect(() => {
    const parent = host.current;
    if (!parent) return;
    const isMjml = language === 'mjml';
    const extraTags = Object.fromEntries(
      Object.entries(MJML_TAGS).map(([name, attributes]) => [
        name,
        { attrs: Object.fromEntries(attributes.map((attribute) => [attribute, null])) },
      ]),
    );
    const files = (data: DataTransfer | null, event: Event) => {
      const pictures = picturesOf(data);
      if (pictures.length === 0 || !view.current) return false;
      event.preventDefault();
      void addPictures(view.current, pictures, isMjml);
      return true;
    };
    const created = new EditorView({
      parent,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          withNonce(),
          // other line ends stay as they are: what is not edited is kept byte for byte
          EditorState.lineSeparator.of(latest.current.value.includes('\r\n') ? '\r\n' : '\n'),
          phrases,
          lineNumbers(),
          highlightActiveLineGutter(),
          highlightSpecialChars(),
          history(),
          foldGutter(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          lintGutter(),
          keymap.of([
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...completionKeymap,
            ...lintKeymap,
            // Escape and then Tab leaves the field: the editor's own way out for those without a mouse
            indentWithTab,
          ]),
          isMjml ? html({ extraTags, selfClosingTags: true }) : html(),
          htmlLanguage.data.of({ autocomplete: completeLiquid(() => latest.current.variables) }),
          liquidMarks,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': isMjml ? t.mjml : t.html }),
          EditorView.domEventHandlers({
            paste: (event) => files(event.clipboardData, event),
            drop: (event) => files(event.dataTransfer, event),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.sliceDoc());
          }),
          ...codeTheme,
        ],
      }),
    });
    view.current = created;
    return () => {
      created.destroy();
      view.current = null;
    };
  }, [language]);

  useEffect(() => {
    const shown = view.current;
    if (shown) shown.dispatch(setDiagnostics(shown.state, diagnosticsOf(shown, problems, language === 'mjml' ? 'mjml' : 'body')));
  }, [problems, language]);

  return <div ref={host} className="h-[32rem] min-h-80 flex-1 overflow-hidden lg:h-auto rounded-card border border-line [&>.cm-editor]:h-full" />;
}
