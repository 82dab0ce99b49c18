import { X } from 'lucide';
import { AlertDialog, Dialog as Radix } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { Button, IconButton } from './button';
import { classes } from './classes';
import { Form, SubmitButton, TextField } from './form';
import { t } from './texts';
import { Icon } from './icon';

const OVERLAY = 'fixed inset-0 z-40 bg-black/40';
const BOX = classes(
  'fixed inset-x-3 top-[8vh] z-50 mx-auto max-h-[84vh] overflow-y-auto rounded-dialog border border-line bg-panel p-4',
  'shadow-pop sm:p-6',
);

/** What is filled in first has the focus when a dialog opens, and not the button that closes it. */
function focusOnField(event: Event): void {
  const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(':is(input, select, textarea):not(:disabled, [type=hidden])');
  if (!field) return;
  event.preventDefault();
  field.focus();
}

/** A dialog over the page. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  wide = false,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={OVERLAY} />
        <Radix.Content
          className={classes(BOX, wide ? 'max-w-3xl' : 'max-w-lg')}
          onOpenAutoFocus={focusOnField}
          {...(description ? {} : { 'aria-describedby': undefined })}
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="text-section font-semibold">{title}</Radix.Title>
              {description && <Radix.Description className="mt-1 text-muted">{description}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label={t.close} size="small">
                <Icon of={X} size={16} />
              </IconButton>
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/**
 * Asks before something that cannot be undone. With `typed`, that text has to be typed; `fields` are further ones. What
 * `onConfirm` throws is shown in the dialog; when it is done, the dialog closes, unless it gives `'stay'`.
 */
export function Confirm({
  open,
  onClose,
  title,
  children,
  action,
  typed,
  fields,
  danger = true,
  onConfirm,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  action: string;
  typed?: string | undefined;
  fields?: ReactNode;
  danger?: boolean;
  onConfirm: (data: FormData) => Promise<unknown>;
}) {
  const [text, setText] = useState('');
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={(next) => {
        if (next) return;
        setText('');
        onClose();
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={OVERLAY} />
        <AlertDialog.Content className={classes(BOX, 'max-w-lg')}>
          <AlertDialog.Title className="text-section font-semibold">{title}</AlertDialog.Title>
          <Form
            onSubmit={async (data) => {
              if ((await onConfirm(data)) === 'stay') return;
              setText('');
              onClose();
            }}
          >
            <AlertDialog.Description asChild>
              <div className="mt-2 space-y-3 text-muted">{children}</div>
            </AlertDialog.Description>
            {typed !== undefined && (
              <TextField
                label={t.typeToConfirm(typed)}
                value={text}
                onChange={(event) => setText(event.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
            )}
            {fields}
            <div className="flex justify-end gap-2">
              <AlertDialog.Cancel asChild>
                <Button>{t.cancel}</Button>
              </AlertDialog.Cancel>
              <SubmitButton
                variant={danger ? 'danger' : 'primary'}
                disabled={typed !== undefined && text.trim() !== typed.trim()}
              >
                {action}
              </SubmitButton>
            </div>
          </Form>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
