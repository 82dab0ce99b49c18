import type { Editor } from '@tiptap/core';
import { NodeSelection } from '@tiptap/pm/state';
import { useEffect, useState } from 'react';
import { TextField } from '#/ui/form';
import { isPlaceholder, placeholder, readPlaceholder } from '../../liquid.ts';
import { t } from '../texts';

/** The settings of a chip: its name and what is written where it is missing, or its text as it is. */
export function VariableSettings({ editor, pos, source }: { editor: Editor; pos: number; source: string }) {
  const [text, setText] = useState(source);
  useEffect(() => setText(source), [source]);
  const simple = readPlaceholder(source);
  const write = (to: string) => {
    setText(to);
    if (!isPlaceholder(to)) return;
    const tr = editor.state.tr.setNodeMarkup(pos, undefined, { source: to });
    editor.view.dispatch(tr.setSelection(NodeSelection.create(tr.doc, pos)));
  };
  return (
    <>
      {simple && (
        <>
          <TextField label={t.variableName} value={simple.name} spellCheck={false} onChange={(event) => event.target.value && write(placeholder(event.target.value, simple.fallback))} />
          <TextField label={t.fallback} value={simple.fallback} onChange={(event) => write(placeholder(simple.name, event.target.value))} />
        </>
      )}
      <TextField
        label={t.source}
        hint={t.sourceHint}
        error={isPlaceholder(text) ? undefined : t.wrongSource}
        value={text}
        spellCheck={false}
        className="font-mono"
        onChange={(event) => write(event.target.value)}
      />
    </>
  );
}
