import type { Editor } from '@tiptap/core';
import { NodeSelection } from '@tiptap/pm/state';
import type { EditorView } from '@tiptap/pm/view';
import { GripVertical } from 'lucide';
import { type DragEvent, type RefObject, useEffect, useState } from 'react';
import { Icon } from '#/ui/icon';
import { type Placed, select } from './blocks';
import { nameOf, t } from './texts';

/** The block at a point of the page. */
function blockAt(editor: Editor, left: number, top: number): Placed | undefined {
  const { view, state } = editor;
  const hit = view.posAtCoords({ left, top });
  if (!hit) return undefined;
  const $pos = state.doc.resolve(Math.max(0, hit.inside));
  let found: Placed | undefined;
  for (let depth = 1; depth <= $pos.depth; depth += 1) {
    const node = $pos.node(depth);
    if (!node.type.isInGroup('block')) continue;
    found = { node, pos: $pos.before(depth) };
    if (node.type.name === 'bulletList' || node.type.name === 'orderedList') return found;
  }
  const after = hit.inside >= 0 ? state.doc.nodeAt(hit.inside) : null;
  if (after?.type.isInGroup('block')) found = { node: after, pos: hit.inside };
  return found;
}

/** Tells the editor what is dragged: it moves that where it is dropped. */
function carry(view: EditorView, what: EditorView['dragging']): void {
  view.dragging = what;
}

/** The grip beside the block under the pointer: it drags the block, and a click selects it. Keys do the same. */
export function Handle({ editor, canvas }: { editor: Editor; canvas: RefObject<HTMLDivElement | null> }) {
  const [at, setAt] = useState<{ placed: Placed; left: number; top: number }>();
  useEffect(() => {
    const area = canvas.current;
    if (!area) return;
    const onMove = (event: PointerEvent) => {
      if (event.pointerType === 'touch' || event.buttons > 0) return;
      if (event.target instanceof Element && event.target.closest('[data-handle]')) return;
      // the gutter beside the mail belongs to the line at the same height
      const mail = editor.view.dom.getBoundingClientRect();
      const left = Math.min(Math.max(event.clientX, mail.left + 30), mail.right - 30);
      const placed = blockAt(editor, left, event.clientY);
      const dom = placed && editor.view.nodeDOM(placed.pos);
      if (!placed || !(dom instanceof HTMLElement)) return setAt(undefined);
      const box = dom.getBoundingClientRect();
      const frame = area.getBoundingClientRect();
      setAt({ placed, left: box.left - frame.left + area.scrollLeft, top: box.top - frame.top + area.scrollTop });
    };
    const hide = () => setAt(undefined);
    area.addEventListener('pointermove', onMove);
    area.addEventListener('pointerleave', hide);
    editor.on('update', hide);
    return () => {
      area.removeEventListener('pointermove', onMove);
      area.removeEventListener('pointerleave', hide);
      editor.off('update', hide);
    };
  }, [editor, canvas]);
  if (!at) return null;

  const drag = (event: DragEvent) => {
    const { view } = editor;
    const selection = NodeSelection.create(view.state.doc, at.placed.pos);
    view.dispatch(view.state.tr.setSelection(selection));
    const dom = view.nodeDOM(at.placed.pos);
    if (dom instanceof HTMLElement) event.dataTransfer.setDragImage(dom, 0, 0);
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', '');
    carry(view, { slice: selection.content(), move: true });
  };
  return (
    <button
      type="button"
      data-handle
      draggable
      tabIndex={-1}
      aria-label={t.handle(nameOf(at.placed.node.type.name))}
      title={t.handle(nameOf(at.placed.node.type.name))}
      onDragStart={drag}
      onDragEnd={() => carry(editor.view, null)}
      onClick={() => select(editor, at.placed.pos)}
      style={{ left: at.left - 26, top: at.top }}
      className="absolute z-5 flex size-6 cursor-grab items-center justify-center rounded-control border border-line bg-panel text-muted hover:text-ink max-sm:hidden"
    >
      <Icon of={GripVertical} size={14} />
    </button>
  );
}
