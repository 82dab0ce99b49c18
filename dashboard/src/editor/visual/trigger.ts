import type { EditorState } from '@tiptap/pm/state';

/** What was typed to open a menu: `/` for blocks, `{{` for variables. */
export interface Trigger {
  kind: 'block' | 'variable';
  query: string;
  from: number;
  to: number;
}

const SLASH = /(?:^|\s)\/([\p{L}\p{N}]*(?: [\p{L}\p{N}]+)?)$/u;
const BRACES = /\{\{\s*([\w.]*)$/;

/** The trigger before the cursor. */
export function triggerAt({ selection }: EditorState): Trigger | undefined {
  const { $from, empty } = selection;
  const { parent } = $from;
  if (!empty || !parent.isTextblock || parent.type.spec.code) return undefined;
  // an atom counts as one sign, so that offsets are those of the document
  const before = parent.textBetween(0, $from.parentOffset, undefined, '\ufffc');
  const braces = BRACES.exec(before);
  if (braces) {
    return { kind: 'variable', query: braces[1] ?? '', from: $from.start() + braces.index, to: $from.pos };
  }
  const slash = SLASH.exec(before);
  if (!slash || parent.type.name === 'button') return undefined;
  const query = slash[1] ?? '';
  return { kind: 'block', query, from: $from.pos - query.length - 1, to: $from.pos };
}
