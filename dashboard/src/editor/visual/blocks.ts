import type { Editor, JSONContent } from '@tiptap/core';
import type { Node as ProseMirrorNode, NodeType } from '@tiptap/pm/model';
import { type EditorState, NodeSelection, TextSelection, type Transaction } from '@tiptap/pm/state';

/** A node that can be selected as a whole, and where it stands. */
export interface Placed {
  node: ProseMirrorNode;
  pos: number;
}

/** The sections, columns and blocks that the selection is in, from the outside. A list is one block. */
export function pathOf(state: EditorState): Placed[] {
  const { selection } = state;
  const { $from } = selection;
  const path: Placed[] = [];
  for (let depth = 1; depth <= $from.depth; depth += 1) {
    const node = $from.node(depth);
    path.push({ node, pos: $from.before(depth) });
    if (node.type.name === 'bulletList' || node.type.name === 'orderedList') return path;
  }
  if (selection instanceof NodeSelection && selection.node.isBlock) path.push({ node: selection.node, pos: selection.from });
  return path;
}

/** The innermost block of the selection. */
export function blockOf(state: EditorState): Placed | undefined {
  return pathOf(state).findLast(({ node }) => node.type.isInGroup('block'));
}

/** Selects a node as a whole, or puts the cursor into it. */
export function select(editor: Editor, pos: number): void {
  const { state, view } = editor;
  const node = state.doc.nodeAt(pos);
  if (!node) return;
  const selection = node.isTextblock
    ? TextSelection.near(state.doc.resolve(pos + 1))
    : NodeSelection.create(state.doc, pos);
  view.dispatch(state.tr.setSelection(selection).scrollIntoView());
  view.focus();
}

/** Changes attributes of the node at a position. Following changes of the same kind are undone together with it. */
export function setAttrs(editor: Editor, pos: number, attrs: Record<string, unknown>): void {
  const { state, view } = editor;
  const node = state.doc.nodeAt(pos);
  if (!node) return;
  const isNodeSelected = state.selection instanceof NodeSelection && state.selection.from === pos;
  const tr = state.tr.setNodeMarkup(pos, undefined, { ...node.attrs, ...attrs });
  if (isNodeSelected) tr.setSelection(NodeSelection.create(tr.doc, pos));
  view.dispatch(tr);
}

function settle(tr: Transaction, pos: number): Transaction {
  const node = tr.doc.nodeAt(pos);
  if (!node) return tr;
  const selection = node.isTextblock ? TextSelection.near(tr.doc.resolve(pos + 1)) : NodeSelection.create(tr.doc, pos);
  return tr.setSelection(selection).scrollIntoView();
}

/** Where the next (1) or previous (-1) node that can hold `type` begins or ends, in the order of the document. */
function neighbour(doc: ProseMirrorNode, from: number, to: number, direction: 1 | -1, type: NodeType): number | undefined {
  let found: number | undefined;
  doc.descendants((node, pos) => {
    if (node.isTextblock || node.isAtom) return false;
    if (node.type.name !== 'column' || !node.type.contentMatch.matchType(type)) return true;
    if (direction === -1 && pos + node.nodeSize <= from) found = pos + node.nodeSize - 1;
    if (direction === 1 && pos >= to && found === undefined) found = pos + 1;
    return true;
  });
  return found;
}

/**
 * Moves a node past its neighbour. A block at the edge of its container leaves it: out of a condition or loop, or into the
 * next column. A column that would be empty keeps an empty line.
 */
export function move(editor: Editor, { node, pos }: Placed, direction: 1 | -1): boolean {
  const { state, view } = editor;
  const $pos = state.doc.resolve(pos);
  const { parent } = $pos;
  const index = $pos.index();
  const sibling = parent.maybeChild(index + direction);
  const tr = state.tr;
  if (sibling) {
    const to = direction === 1 ? pos + sibling.nodeSize : pos - sibling.nodeSize;
    tr.delete(pos, pos + node.nodeSize).insert(to, node);
    view.dispatch(settle(tr, to));
    return true;
  }
  if (!node.type.isInGroup('block')) return false;
  let target: number | undefined;
  if (parent.type.name === 'loop' || parent.type.name === 'branch') {
    const depth = parent.type.name === 'loop' ? $pos.depth : $pos.depth - 1;
    target = direction === 1 ? $pos.after(depth) : $pos.before(depth);
  } else {
    const depth = $pos.depth;
    target = neighbour(state.doc, $pos.before(depth), $pos.after(depth), direction, node.type);
  }
  if (target === undefined) return false;
  tr.insert(target, node);
  const old = tr.mapping.map(pos);
  remove(tr, old, node.nodeSize);
  const at = target > pos ? tr.mapping.slice(1).map(target) : target;
  view.dispatch(settle(tr, at));
  return true;
}

/** Takes a node out. A container that would be empty gets an empty line. */
function remove(tr: Transaction, pos: number, size: number): void {
  const { parent } = tr.doc.resolve(pos);
  const paragraph = tr.doc.type.schema.nodes.paragraph;
  if (parent.childCount === 1 && paragraph) tr.replaceWith(pos, pos + size, paragraph.create());
  else tr.delete(pos, pos + size);
}

/** Deletes a node. The last section is emptied instead, and a condition goes with its last branch. */
export function destroy(editor: Editor, { node, pos }: Placed): void {
  const { state, view } = editor;
  const $pos = state.doc.resolve(pos);
  const { parent } = $pos;
  const tr = state.tr;
  const name = node.type.name;
  if (parent.childCount === 1 && (name === 'branch' || name === 'column')) {
    const outer = { node: parent, pos: $pos.before() };
    destroy(editor, outer);
    return;
  }
  if (parent.childCount === 1 && name === 'section') {
    const fresh = state.schema.nodes.section?.createAndFill();
    if (fresh) tr.replaceWith(pos, pos + node.nodeSize, fresh);
  } else {
    remove(tr, pos, node.nodeSize);
  }
  view.dispatch(tr.setSelection(TextSelection.near(tr.doc.resolve(Math.min(pos + 1, tr.doc.content.size)), -1)).scrollIntoView());
  view.focus();
}

/** Puts a copy of a node behind it. */
export function duplicate(editor: Editor, { node, pos }: Placed): void {
  const { state, view } = editor;
  const $pos = state.doc.resolve(pos);
  if (!$pos.parent.type.validContent($pos.parent.content.addToEnd(node))) return;
  const to = pos + node.nodeSize;
  view.dispatch(settle(state.tr.insert(to, node), to));
  view.focus();
}

/** Puts a block behind the selected one, or in its place where that is an empty line. */
export function insertBlock(editor: Editor, content: JSONContent): void {
  const { state, view } = editor;
  const node = state.schema.nodeFromJSON(content);
  const tr = state.tr;
  const path = pathOf(state);
  if (node.type.name === 'section') {
    const section = path[0];
    const at = section ? section.pos + section.node.nodeSize : state.doc.content.size;
    view.dispatch(settle(tr.insert(at, node), innermost(node, at)));
    view.focus();
    return;
  }
  const block = blockOf(state);
  let at = firstPlace(state.doc, path);
  if (block && block.node.type.name === 'paragraph' && block.node.content.size === 0) {
    at = block.pos;
    tr.replaceWith(at, at + block.node.nodeSize, node);
  } else {
    if (block) at = block.pos + block.node.nodeSize;
    tr.insert(at, node);
  }
  settle(tr, innermost(node, at));
  // the words of a new button are there to be written over
  if (node.type.name === 'button') tr.setSelection(TextSelection.create(tr.doc, at + 1, at + 1 + node.content.size));
  view.dispatch(tr);
  view.focus();
}

/** Where a block goes when none is selected: to the end of the first column of the selected section, or of the last. */
function firstPlace(doc: ProseMirrorNode, path: readonly Placed[]): number {
  const column = path.findLast(({ node }) => node.type.name === 'column');
  if (column) return column.pos + column.node.nodeSize - 1;
  const section = path[0] ?? { node: doc.lastChild, pos: doc.content.size - (doc.lastChild?.nodeSize ?? 0) };
  return section.pos + 1 + (section.node?.firstChild?.nodeSize ?? 2) - 1;
}

/** Where the first text of a node begins, so that the next key writes into it; else the node. */
function innermost(node: ProseMirrorNode, at: number): number {
  let found: number | undefined;
  if (node.isTextblock || node.isAtom) return at;
  node.descendants((child, pos) => {
    if (found === undefined && child.isTextblock) found = at + 1 + pos;
    return found === undefined;
  });
  return found ?? at;
}

/** Gives a section these columns, by their widths in percent. What was in a column that goes comes into the last one. */
export function setColumns(editor: Editor, { node, pos }: Placed, widths: readonly number[]): void {
  const { state, view } = editor;
  const type = state.schema.nodes.column;
  const paragraph = state.schema.nodes.paragraph;
  if (!type || !paragraph) return;
  const old = node.children;
  const columns = widths.map((width, index) => {
    const before = old[index];
    const extra = index === widths.length - 1 ? old.slice(widths.length) : [];
    const content = [before, ...extra].flatMap((column) => column?.children ?? []).filter((child) => !isBlank(child));
    const attrs = { ...before?.attrs, width };
    return type.create(attrs, content.length > 0 ? content : [paragraph.create()]);
  });
  const tr = state.tr.replaceWith(pos, pos + node.nodeSize, node.type.create(node.attrs, columns));
  view.dispatch(tr.setSelection(NodeSelection.create(tr.doc, pos)));
}

function isBlank(node: ProseMirrorNode): boolean {
  return node.type.name === 'paragraph' && node.content.size === 0;
}
