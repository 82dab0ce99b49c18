import './visual.css';
import type { Editor } from '@tiptap/core';
import { EditorContent, useEditor } from '@tiptap/react';
import { useEffect, useRef, useState } from 'react';
import { done, failed } from '#/ui/toast';
import type { EmailDocument, SectionNode } from '../document.ts';
import { picturesOf, upload } from '../images/upload';
import { useVariables } from '../variables/queries';
import { insertBlock } from './blocks';
import { Handle } from './Handle';
import { hint } from './hint';
import { Keys } from './keys';
import { themeStyle } from './nodes';
import { Panel } from './panel/Panel';
import { CONTENT, contentOf } from './schema';
import { Suggestions } from './Suggestions';
import { t } from './texts';
import { Toolbar } from './Toolbar';

const EXTENSIONS = [...CONTENT, Keys, hint(t.placeholder)];

/** Uploads pictures and puts them in, one below the other. Without words for those who do not see them: the panel asks. */
async function addPictures(editor: Editor, files: readonly File[], width: number): Promise<void> {
  done(t.uploading);
  for (const file of files) {
    try {
      const picture = await upload(file);
      const shown = picture.width < width - 48 ? picture.width : 0;
      insertBlock(editor, { type: 'image', attrs: { src: picture.url, width: shown } });
    } catch (error) {
      failed(error);
    }
  }
}

/** The visual editor: a mail as it will look, with a toolbar, and the settings of what is selected beside it. */
export default function VisualEditor({ document, onChange }: { document: EmailDocument; onChange: (document: EmailDocument) => void }) {
  const canvas = useRef<HTMLDivElement>(null);
  const variables = useVariables();
  const [isMounted, setMounted] = useState(false);
  const latest = useRef({ document, onChange });
  useEffect(() => {
    latest.current = { document, onChange };
  });
  const editor = useEditor({
    extensions: EXTENSIONS,
    content: contentOf(document),
    injectCSS: false,
    shouldRerenderOnTransaction: false,
    editorProps: {
      attributes: { role: 'textbox', 'aria-multiline': 'true', 'aria-label': t.canvas, 'aria-haspopup': 'listbox' },
      handlePaste: (_, event) => {
        const files = picturesOf(event.clipboardData);
        if (files.length === 0) return false;
        void addPictures(editor, files, latest.current.document.theme.width);
        return true;
      },
      handleDrop: (view, event, _slice, moved) => {
        const files = moved ? [] : picturesOf(event.dataTransfer);
        if (files.length === 0) return false;
        event.preventDefault();
        const at = view.posAtCoords({ left: event.clientX, top: event.clientY });
        if (at) editor.commands.setTextSelection(at.pos);
        void addPictures(editor, files, latest.current.document.theme.width);
        return true;
      },
      handleKeyDown: (_, event) => {
        if (event.key !== 'F10' || event.shiftKey) return false;
        const panel = globalThis.document.querySelector('[data-panel]');
        panel?.querySelector<HTMLElement>('nav ~ * button, input, select, textarea')?.focus();
        return true;
      },
    },
    onCreate: () => setMounted(true),
    onUpdate: ({ editor: changed }) => {
      const sections = (changed.getJSON().content ?? []) as SectionNode[];
      latest.current.onChange({ ...latest.current.document, sections });
    },
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-card border border-line lg:flex-row">
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Toolbar editor={editor} variables={variables} />
        <div
          ref={canvas}
          style={themeStyle(document.theme)}
          className="mw-canvas relative min-h-80 flex-1 overflow-auto px-2 py-6 sm:px-10"
        >
          <EditorContent editor={editor} />
          {isMounted && <Handle editor={editor} canvas={canvas} />}
        </div>
        {isMounted && <Suggestions editor={editor} variables={variables} />}
      </div>
      <Panel editor={editor} theme={document.theme} onTheme={(theme) => onChange({ ...latest.current.document, theme })} />
    </div>
  );
}
