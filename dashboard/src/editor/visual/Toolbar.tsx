import type { Editor } from '@tiptap/core';
import { useEditorState } from '@tiptap/react';
import {
  AlignCenter,
  AlignLeft,
  AlignRight,
  Bold,
  Braces,
  Italic,
  type IconNode,
  Link as LinkIcon,
  Plus,
  Redo2,
  Strikethrough,
  Underline,
  Undo2,
} from 'lucide';
import { type KeyboardEvent, useState } from 'react';
import { Button, IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { placeholder } from '../liquid.ts';
import type { Variable } from '../variables/queries';
import { blockOf, insertBlock, setAttrs } from './blocks';
import { ENTRIES } from './catalogue';
import { LinkDialog } from './LinkDialog';
import { nameOf, t } from './texts';

/** Moves between the controls with the arrow keys, as toolbars do. */
function rove(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
  if (event.target instanceof HTMLSelectElement) return;
  const controls = [...event.currentTarget.querySelectorAll<HTMLElement>('button:not(:disabled), select, input')];
  const at = controls.indexOf(event.target as HTMLElement);
  const next = controls[(at + (event.key === 'ArrowRight' ? 1 : controls.length - 1)) % controls.length];
  next?.focus();
  event.preventDefault();
}

function Toggle({ label, icon, on, disabled, onPress }: { label: string; icon: IconNode; on: boolean; disabled?: boolean; onPress: () => void }) {
  return (
    <IconButton
      label={label}
      size="small"
      aria-pressed={on}
      disabled={disabled ?? false}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPress}
      className={classes(on && 'bg-accent-soft! text-accent')}
    >
      <Icon of={icon} size={15} />
    </IconButton>
  );
}

const LINE = <span aria-hidden className="mx-0.5 h-5 w-px shrink-0 bg-line" />;

/** What can be done with the selected text, and what can be put in. */
export function Toolbar({ editor, variables }: { editor: Editor; variables: readonly Variable[] }) {
  const [linking, setLinking] = useState(false);
  const state = useEditorState({
    editor,
    selector: ({ editor: now }) => {
      const block = blockOf(now.state);
      const attrs = block?.node.attrs ?? {};
      return {
        kind: block?.node.type.name === 'heading' ? `heading${attrs.level}` : (block?.node.type.name ?? ''),
        align: String(attrs.align ?? ''),
        bold: now.isActive('bold'),
        italic: now.isActive('italic'),
        underline: now.isActive('underline'),
        strike: now.isActive('strike'),
        link: now.isActive('link'),
        color: String(now.getAttributes('color').color ?? ''),
        marks: now.can().setMark('bold'),
        undo: now.can().undo(),
        redo: now.can().redo(),
      };
    },
  });
  const align = (to: string) => {
    const block = blockOf(editor.state);
    if (block) setAttrs(editor, block.pos, { align: to });
  };
  const become = (kind: string) => {
    const chain = editor.chain().focus();
    if (kind === 'paragraph') chain.setNode('paragraph').run();
    else chain.setNode('heading', { level: Number(kind.slice(-1)) }).run();
  };
  const isText = state.kind === 'paragraph' || state.kind.startsWith('heading');
  return (
    // oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- its controls have the focus
    <div
      role="toolbar"
      aria-label={t.toolbar}
      onKeyDown={rove}
      className="flex flex-wrap items-center gap-0.5 border-b border-line bg-panel p-1.5"
    >
      <Menu
        align="start"
        movesFocus
        trigger={
          <Button size="small" aria-label={t.insertBlock}>
            <Icon of={Plus} size={14} />
            {t.insert}
          </Button>
        }
        entries={ENTRIES.map((entry) => ({
          text: entry.name,
          icon: <Icon of={entry.icon} size={15} />,
          onSelect: () => setTimeout(() => insertBlock(editor, entry.content())),
        }))}
      />
      <Menu
        align="start"
        movesFocus
        trigger={
          <Button size="small" aria-label={t.insertVariable}>
            <Icon of={Braces} size={14} />
            {t.variable}
          </Button>
        }
        entries={variables.map((variable) => ({
          text: variable.name,
          onSelect: () =>
            setTimeout(() =>
              editor.chain().focus().insertContent({ type: 'variable', attrs: { source: placeholder(variable.name) } }).run(),
            ),
        }))}
      />
      {LINE}
      <select
        aria-label={t.block}
        disabled={!isText}
        value={isText ? state.kind : ''}
        onChange={(event) => become(event.target.value)}
        className="h-7 rounded-control border border-control bg-panel px-1 text-meta disabled:opacity-50 pointer-coarse:h-11"
      >
        {!isText && <option value="">{nameOf(state.kind)}</option>}
        <option value="paragraph">{t.names.paragraph}</option>
        {[1, 2, 3].map((level) => (
          <option key={level} value={`heading${level}`}>
            {t.heading(level)}
          </option>
        ))}
      </select>
      {LINE}
      <Toggle label={t.bold} icon={Bold} on={state.bold} disabled={!state.marks} onPress={() => editor.chain().focus().toggleMark('bold').run()} />
      <Toggle label={t.italic} icon={Italic} on={state.italic} disabled={!state.marks} onPress={() => editor.chain().focus().toggleMark('italic').run()} />
      <Toggle label={t.underline} icon={Underline} on={state.underline} disabled={!state.marks} onPress={() => editor.chain().focus().toggleMark('underline').run()} />
      <Toggle label={t.strike} icon={Strikethrough} on={state.strike} disabled={!state.marks} onPress={() => editor.chain().focus().toggleMark('strike').run()} />
      <Toggle label={t.link} icon={LinkIcon} on={state.link} disabled={!state.marks} onPress={() => setLinking(true)} />
      <input
        type="color"
        aria-label={t.textColor}
        title={t.textColor}
        disabled={!state.marks}
        value={/^#[0-9a-f]{6}$/i.test(state.color) ? state.color : '#000000'}
        onChange={(event) => editor.chain().setMark('color', { color: event.target.value }).run()}
        className="size-7 rounded-control border border-transparent bg-transparent p-1 disabled:opacity-50 pointer-coarse:size-11"
      />
      {state.color && (
        <Button size="small" variant="ghost" onClick={() => editor.chain().focus().unsetMark('color').run()}>
          {t.noColor}
        </Button>
      )}
      {LINE}
      <Toggle label={t.left} icon={AlignLeft} on={state.align === 'left'} disabled={!state.align} onPress={() => align('left')} />
      <Toggle label={t.center} icon={AlignCenter} on={state.align === 'center'} disabled={!state.align} onPress={() => align('center')} />
      <Toggle label={t.right} icon={AlignRight} on={state.align === 'right'} disabled={!state.align} onPress={() => align('right')} />
      {LINE}
      <IconButton label={t.undo} size="small" disabled={!state.undo} onClick={() => editor.chain().focus().undo().run()}>
        <Icon of={Undo2} size={15} />
      </IconButton>
      <IconButton label={t.redo} size="small" disabled={!state.redo} onClick={() => editor.chain().focus().redo().run()}>
        <Icon of={Redo2} size={15} />
      </IconButton>
      {linking && <LinkDialog editor={editor} onClose={() => setLinking(false)} />}
    </div>
  );
}
