import { Extension } from '@tiptap/core';
import { Plugin } from '@tiptap/pm/state';
import { Decoration, DecorationSet } from '@tiptap/pm/view';

/** Shows what can be done in the empty line that has the cursor. */
export function hint(text: string): Extension {
  return Extension.create({
    name: 'hint',
    addProseMirrorPlugins: () => [
      new Plugin({
        props: {
          decorations({ doc, selection }) {
            const { $from, empty } = selection;
            if (!empty || $from.parent.type.name !== 'paragraph' || $from.parent.content.size > 0) return null;
            const shown = Decoration.node($from.before(), $from.after(), { 'data-hint': text });
            return DecorationSet.create(doc, [shown]);
          },
        },
      }),
    ],
  });
}
