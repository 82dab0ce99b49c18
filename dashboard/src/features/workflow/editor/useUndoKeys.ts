import { useEffect } from 'react';
import type { Editing } from './useEditing';

const TYPING = 'input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog]';

/** Undo by Ctrl or Cmd with Z, redo with Shift as well or by Y. In fields they are the browser's. */
export function useUndoKeys({ undo, redo, canUndo, canRedo, busy }: Editing): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || busy) return;
      if (event.target instanceof HTMLElement && event.target.closest(TYPING)) return;
      const key = event.key.toLowerCase();
      const again = key === 'y' || (key === 'z' && event.shiftKey);
      if (!again && key !== 'z') return;
      event.preventDefault();
      if (again && canRedo) redo();
      else if (!again && canUndo) undo();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [undo, redo, canUndo, canRedo, busy]);
}
