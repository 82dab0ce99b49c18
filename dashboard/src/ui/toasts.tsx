import { X } from 'lucide';
import { useEffect, useState } from 'react';
import { Button, IconButton } from './button';
import { Icon } from './icon';
import { Problem } from './problem';
import { t } from './texts';
import { dismiss, type Toast, useToasts } from './toast';

/** How long a toast without an error stays, in milliseconds. */
const STAYS_MS = 5_000;

/** Where toasts are shown. Its code is loaded with the first one. */
export default function Toasts() {
  const shown = useToasts();
  return (
    <div className="pointer-events-none fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2">
      {shown.map((toast) => (
        <Shown key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

/** A toast. It goes by itself, though never while somebody points at it or has the focus in it: it can be the only undo. */
function Shown({ toast: { id, text, error, undo } }: { toast: Toast }) {
  const [hasPointer, setPointer] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const stays = error !== undefined || hasPointer || hasFocus;
  useEffect(() => {
    if (stays) return;
    const timer = setTimeout(() => dismiss(id), STAYS_MS);
    return () => clearTimeout(timer);
  }, [id, stays]);
  return (
    <div
      onPointerEnter={() => setPointer(true)}
      onPointerLeave={() => setPointer(false)}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      className="pointer-events-auto flex max-w-md items-center gap-2 rounded-card border border-line bg-panel p-2 shadow-pop"
    >
      {error !== undefined ? <Problem error={error} /> : <p className="px-1">{text}</p>}
      {undo && (
        <Button
          size="small"
          onClick={() => {
            dismiss(id);
            undo();
          }}
        >
          {t.undo}
        </Button>
      )}
      <IconButton label={t.dismiss} size="small" onClick={() => dismiss(id)}>
        <Icon of={X} size={14} />
      </IconButton>
    </div>
  );
}
