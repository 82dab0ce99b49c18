import { Check, Copy } from 'lucide';
import { useEffect, useState } from 'react';
import { Button, IconButton } from './button';
import { copyText } from './clipboard';
import { t } from './texts';
import { Icon } from './icon';

function useCopied(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (text: string) => {
    void copyText(text).then((isCopied) => isCopied && setCopied(true));
  };
  return [copied, copy];
}

/** Copies a text. `what` names it for those who do not see it. */
export function CopyButton({ text, what, label }: { text: string; what: string; label?: string }) {
  const [copied, copy] = useCopied();
  const icon = copied ? <Icon of={Check} size={14} /> : <Icon of={Copy} size={14} />;
  return (
    <>
      {label ? (
        <Button size="small" onClick={() => copy(text)}>
          {icon}
          {copied ? t.copied : label}
        </Button>
      ) : (
        <IconButton size="small" label={t.copyThis(what)} onClick={() => copy(text)}>
          {icon}
        </IconButton>
      )}
      <span role="status" className="sr-only">
        {copied ? t.copied : ''}
      </span>
    </>
  );
}

/** Code to copy. It scrolls within itself. */
export function CodeBlock({ code, what }: { code: string; what: string }) {
  return (
    <div className="relative rounded-card border border-line bg-raised">
      <pre
        // a region that scrolls must be reachable by keyboard
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label={what}
        role="region"
        className="overflow-x-auto p-3 pr-10 font-mono text-meta whitespace-pre"
      >
        {code}
      </pre>
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={code} what={what} />
      </div>
    </div>
  );
}

/** A value on one line with a button that copies it, such as an id or a DNS record. */
export function Copyable({ text, what }: { text: string; what: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="min-w-0 font-mono text-meta break-all">{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
