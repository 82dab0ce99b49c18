import { X } from 'lucide';
import { Button, IconButton } from './button';
import { Icon } from './icon';
import { Problem } from './problem';
import { t } from './texts';
import { dismiss, useToasts } from './toast';

/** Where toasts are shown. Its code is loaded with the first one. */
export default function Toasts() {
  const shown = useToasts();
  return (
    <div className="pointer-events-none fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2">
      {shown.map((toast) => (
        <div
          key={toast.id}
          className="pointer-events-auto flex max-w-md items-center gap-2 rounded-card border border-line bg-panel p-2 shadow-pop"
        >
          {toast.error ? <Problem error={toast.error} /> : <p className="px-1">{toast.text}</p>}
          {toast.undo && (
            <Button
              size="small"
              onClick={() => {
                dismiss(toast.id);
                toast.undo?.();
              }}
            >
              {t.undo}
            </Button>
          )}
          <IconButton label={t.dismiss} size="small" onClick={() => dismiss(toast.id)}>
            <Icon of={X} size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
