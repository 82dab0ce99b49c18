import { Extension, nodeInputRule, nodePasteRule } from '@tiptap/core';
import { blockOf, destroy, duplicate, move, pathOf } from './blocks';

/** A placeholder at the end of what was typed. */
const TYPED = /(?<!\{)\{\{[^{}]+\}\}$|\{\{\{[^{}]+\}\}\}$/;
/** Placeholders in what was pasted. */
const PASTED = /\{\{\{[^{}]+\}\}\}|(?<!\{)\{\{[^{}]+\}\}/g;

/** The keys that work on whole blocks, and placeholders that become chips as they are typed or pasted. */
export const Keys = Extension.create({
  name: 'keys',
  priority: 500,
  addKeyboardShortcuts() {
    const moveBlock = (direction: 1 | -1) => () => {
      const block = blockOf(this.editor.state) ?? pathOf(this.editor.state).at(-1);
      // taken even where nothing moves: the browser goes back in its history with some of these keys
      if (block) move(this.editor, block, direction);
      return true;
    };
    const moveSection = (direction: 1 | -1) => () => {
      const section = pathOf(this.editor.state)[0];
      if (section) move(this.editor, section, direction);
      return true;
    };
    return {
      'Alt-ArrowUp': moveBlock(-1),
      'Alt-ArrowDown': moveBlock(1),
      'Alt-Shift-ArrowUp': moveSection(-1),
      'Alt-Shift-ArrowDown': moveSection(1),
      'Mod-d': () => {
        const block = blockOf(this.editor.state) ?? pathOf(this.editor.state).at(-1);
        if (block) duplicate(this.editor, block);
        return true;
      },
      'Mod-Shift-Backspace': () => {
        const block = blockOf(this.editor.state) ?? pathOf(this.editor.state).at(-1);
        if (block) destroy(this.editor, block);
        return true;
      },
    };
  },
  addInputRules() {
    const type = this.editor.schema.nodes.variable;
    if (!type) return [];
    return [nodeInputRule({ find: TYPED, type, getAttributes: (match) => ({ source: match[0] }) })];
  },
  addPasteRules() {
    const type = this.editor.schema.nodes.variable;
    if (!type) return [];
    return [nodePasteRule({ find: PASTED, type, getAttributes: (match) => ({ source: match[0] }) })];
  },
});
