import { type ReactNode, useEffect, useRef } from 'react';
import { CopyButton } from './copy';
import { t } from './texts';

/**
 * A text that is shown once, such as a new key: what it is, the text itself, and a button that copies it. It takes the
 * focus, so that nobody misses it.
 */
export function Once({
  title,
  text,
  what,
  children,
  actions,
}: {
  title: string;
  text: string;
  /** What is copied, such as "key". */
  what: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), [text]);
  return (
    <div
      ref={box}
      role="group"
      aria-label={title}
      tabIndex={-1}
      className="space-y-2 rounded-card border border-accent bg-accent-soft p-3"
    >
      <p className="font-medium">{title}</p>
      {children && <div className="text-muted">{children}</div>}
      <code className="block font-mono text-input break-all whitespace-pre-wrap select-all">{text}</code>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} what={what} label={t.copy} />
        {actions}
      </div>
    </div>
  );
}
