import type { Editor } from '@tiptap/core';
import { useEditorState } from '@tiptap/react';
import { useEffect, useId, useLayoutEffect, useMemo, useState } from 'react';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { placeholder } from '../liquid.ts';
import { matching, type Variable } from '../variables/queries';
import { insertBlock } from './blocks';
import { entriesFor } from './catalogue';
import { t } from './texts';
import { type Trigger, triggerAt } from './trigger';

interface Option {
  id: string;
  name: string;
  hint?: string;
  icon?: Parameters<typeof Icon>[0]['of'];
  take: (editor: Editor, trigger: Trigger) => void;
}

function optionsFor(trigger: Trigger | null, variables: readonly Variable[]): Option[] {
  if (!trigger) return [];
  if (trigger.kind === 'variable') {
    return matching(variables, trigger.query).slice(0, 8).map((variable) => ({
      id: variable.name,
      name: variable.name,
      hint: variable.hint,
      take: (editor, { from, to }) => {
        const node = { type: 'variable', attrs: { source: placeholder(variable.name) } };
        editor.chain().focus().insertContentAt({ from, to }, node).run();
      },
    }));
  }
  return entriesFor(trigger.query).map((entry) => ({
    id: entry.id,
    name: entry.name,
    icon: entry.icon,
    take: (editor, { from, to }) => {
      editor.chain().focus().deleteRange({ from, to }).run();
      insertBlock(editor, entry.content());
    },
  }));
}

/** The menu at the cursor: blocks after `/`, variables after `{{`. The editor keeps the focus. */
export function Suggestions({ editor, variables }: { editor: Editor; variables: readonly Variable[] }) {
  const id = useId();
  const trigger = useEditorState({
    editor,
    selector: ({ editor: now }) => (now.isFocused ? (triggerAt(now.state) ?? null) : null),
  });
  const [dismissed, setDismissed] = useState<number>();
  const [index, setIndex] = useState(0);
  const [place, setPlace] = useState<{ left: number; top: number }>();
  const isDismissed = trigger !== null && dismissed === trigger.from;
  const options = useMemo(() => (isDismissed ? [] : optionsFor(trigger, variables)), [trigger, variables, isDismissed]);
  const shown = trigger !== null && options.length > 0;
  const from = trigger?.from;
  const query = trigger?.query;

  useEffect(() => setIndex(0), [from, query]);
  useEffect(() => {
    if (from === undefined) setDismissed(undefined);
  }, [from]);
  useLayoutEffect(() => {
    if (!shown || from === undefined) return;
    const locate = () => {
      const at = editor.view.coordsAtPos(from);
      const below = innerHeight - at.bottom > 300 || at.top < 300;
      setPlace({ left: Math.max(8, Math.min(at.left, innerWidth - 280)), top: below ? at.bottom + 4 : at.top - 292 });
    };
    locate();
    addEventListener('scroll', locate, true);
    return () => removeEventListener('scroll', locate, true);
  }, [editor, shown, from]);

  useEffect(() => {
    const { dom } = editor.view;
    if (!shown) return;
    dom.setAttribute('aria-controls', id);
    dom.setAttribute('aria-activedescendant', `${id}-${index}`);
    const onKey = (event: KeyboardEvent) => {
      const chosen = options[index];
      if (event.key === 'ArrowDown') setIndex((index + 1) % options.length);
      else if (event.key === 'ArrowUp') setIndex((index + options.length - 1) % options.length);
      else if ((event.key === 'Enter' || event.key === 'Tab') && chosen) chosen.take(editor, trigger);
      else if (event.key === 'Escape') setDismissed(trigger.from);
      else return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    dom.addEventListener('keydown', onKey, true);
    return () => {
      dom.removeEventListener('keydown', onKey, true);
      dom.removeAttribute('aria-controls');
      dom.removeAttribute('aria-activedescendant');
    };
  }, [editor, shown, options, index, trigger, id]);

  useEffect(() => {
    if (shown) document.getElementById(`${id}-${index}`)?.scrollIntoView({ block: 'nearest' });
  }, [shown, id, index]);

  return (
    <>
      <span role="status" className="sr-only">
        {shown ? `${options[index]?.name ?? ''}, ${t.found(options.length)}` : ''}
      </span>
      {shown && place && (
        <div
          id={id}
          role="listbox"
          aria-label={t.suggestions}
          style={place}
          className="fixed z-30 max-h-72 w-64 overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
        >
          {options.map((option, at) => (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the editor has the keys
            <div
              key={option.id}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === index}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => option.take(editor, trigger)}
              className={classes(
                'flex min-h-8 cursor-default items-center gap-2 rounded-control px-2 pointer-coarse:min-h-11',
                at === index && 'bg-raised',
              )}
            >
              {option.icon && <Icon of={option.icon} size={15} className="text-muted" />}
              <span className={option.icon ? 'truncate' : 'truncate font-mono text-meta'}>{option.name}</span>
              {option.hint && <span className="ml-auto truncate text-meta text-muted">{option.hint}</span>}
            </div>
          ))}
        </div>
      )}
    </>
  );
}
