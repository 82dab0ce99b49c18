import type { Editor } from '@tiptap/core';
import { NodeSelection } from '@tiptap/pm/state';
import { useEditorState } from '@tiptap/react';
import { ArrowDown, ArrowUp, ChevronRight, Copy, Trash2 } from 'lucide';
import { useEffect, useState } from 'react';
import { Button, IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { Banner } from '#/ui/status';
import type { Theme } from '../../document.ts';
import { isUnset } from '../../unset.ts';
import { destroy, duplicate, move, pathOf, type Placed, setAttrs } from '../blocks';
import { nameOf, t } from '../texts';
import { DesignSettings } from './DesignSettings';
import { SETTINGS } from './settings';
import { VariableSettings } from './VariableSettings';

/** The settings of what is selected, and of the whole mail. */
export function Panel({ editor, theme, onTheme }: { editor: Editor; theme: Theme; onTheme: (theme: Theme) => void }) {
  const [tab, setTab] = useState<'block' | 'design'>('block');
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape leads back from any control
    <aside
      aria-label={t.panel}
      data-panel
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) editor.commands.focus();
      }}
      className="flex min-h-0 flex-col border-line bg-panel max-lg:border-t lg:w-72 lg:shrink-0 lg:border-l"
    >
      <div className="flex border-b border-line" role="group">
        {(['block', 'design'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={tab === name}
            onClick={() => setTab(name)}
            className={classes(
              'h-10 flex-1 border-b-2 font-medium pointer-coarse:h-11',
              tab === name ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink',
            )}
          >
            {t[name]}
          </button>
        ))}
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto p-3">
        {tab === 'design' ? <DesignSettings theme={theme} onChange={onTheme} /> : <BlockSettings editor={editor} theme={theme} />}
      </div>
    </aside>
  );
}

/** The innermost branch around the selection whose condition is not set. */
function unsetAround(path: readonly Placed[]): number | undefined {
  const index = path.findLastIndex(({ node }) => node.type.name === 'branch' && isUnset(node.attrs.kind, node.attrs.test));
  return index < 0 ? undefined : index;
}

/** The level whose settings are shown first: that of a branch which was just put in, as its condition is to be set. */
function firstLevel(path: readonly Placed[]): number | undefined {
  const last = path.at(-1);
  const isEmpty = last?.node.type.name === 'paragraph' && last.node.content.size === 0;
  const unset = unsetAround(path);
  return isEmpty && unset === path.length - 2 && path[unset]?.node.childCount === 1 ? unset : undefined;
}

function BlockSettings({ editor, theme }: { editor: Editor; theme: Theme }) {
  // the path is made anew with every change of the document or the selection
  const state = useEditorState({ editor, selector: ({ editor: now }) => now.state, equalityFn: Object.is });
  const path = pathOf(state);
  const [level, setLevel] = useState<number>();
  const { selection } = state;
  const chip = selection instanceof NodeSelection && selection.node.type.name === 'variable' ? selection : undefined;
  const key = [...path.map((placed) => placed.pos), chip ? `chip ${chip.from}` : ''].join(' ');
  // another block was selected: its own settings are shown
  useEffect(() => setLevel(firstLevel(pathOf(editor.state))), [editor, key]);
  const unset = unsetAround(path);
  const placed = path[Math.min(level ?? path.length - 1, path.length - 1)];
  if (!placed) return null;
  const name = placed.node.type.name;
  const Settings = SETTINGS[name];
  const isSideways = name === 'column';
  const canMove = name !== 'branch';
  const set = (attrs: Record<string, unknown>) => setAttrs(editor, placed.pos, attrs);
  return (
    <div className="space-y-3">
      <nav aria-label={t.path} className="flex flex-wrap items-center text-meta">
        {path.map((one, index) => (
          <span key={one.pos} className="flex items-center">
            {index > 0 && <Icon of={ChevronRight} size={12} className="text-muted" />}
            <button
              type="button"
              aria-current={one.pos === placed.pos && !chip ? 'true' : undefined}
              onClick={() => setLevel(index)}
              className={classes(
                'min-h-6 rounded px-1 hover:bg-raised pointer-coarse:min-h-11',
                one.pos === placed.pos ? 'font-medium text-ink' : 'text-muted',
              )}
            >
              {nameOf(one.node.type.name)}
            </button>
          </span>
        ))}
      </nav>
      {unset !== undefined && path[unset]?.pos !== placed.pos && (
        <Banner
          tone="warn"
          action={
            <Button size="small" onClick={() => setLevel(unset)}>
              {t.setTest}
            </Button>
          }
        >
          {t.unsetText}
        </Banner>
      )}
      {chip && level === undefined ? (
        <VariableSettings editor={editor} pos={chip.from} source={String(chip.node.attrs.source)} />
      ) : (
        <>
          <div className="flex gap-1">
            {canMove && (
              <>
                <IconButton variant="default" size="small" label={isSideways ? t.moveLeft : t.moveUp} onClick={() => move(editor, placed, -1)}>
                  <Icon of={ArrowUp} size={14} className={isSideways ? '-rotate-90' : ''} />
                </IconButton>
                <IconButton variant="default" size="small" label={isSideways ? t.moveRight : t.moveDown} onClick={() => move(editor, placed, 1)}>
                  <Icon of={ArrowDown} size={14} className={isSideways ? '-rotate-90' : ''} />
                </IconButton>
              </>
            )}
            <IconButton variant="default" size="small" label={t.duplicate} onClick={() => duplicate(editor, placed)}>
              <Icon of={Copy} size={14} />
            </IconButton>
            <IconButton variant="default" size="small" label={`${t.remove}: ${nameOf(name)}`} onClick={() => destroy(editor, placed)}>
              <Icon of={Trash2} size={14} />
            </IconButton>
          </div>
          {Settings && <Settings key={`${name} ${placed.pos}`} editor={editor} placed={placed} attrs={placed.node.attrs} set={set} theme={theme} />}
        </>
      )}
      <p className="border-t border-line pt-3 text-meta text-muted">{t.keys}</p>
    </div>
  );
}
