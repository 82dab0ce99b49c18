import { Decoration, type DecorationSet, type EditorView, MatchDecorator, ViewPlugin, type ViewUpdate } from '@codemirror/view';

const matcher = new MatchDecorator({
  regexp: /\{\{\{?[^{}]*\}?\}\}|\{%[^%]*%\}/g,
  decoration: Decoration.mark({ class: 'cm-liquid' }),
});

/** Marks placeholders and tags of the template language, wherever they stand. */
export const liquidMarks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = matcher.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
