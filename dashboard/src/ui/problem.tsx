import { AlertTriangle } from 'lucide';
import type { ReactNode } from 'react';
import { ApiError } from '#/api/error';
import { duration } from '#/i18n/format';
import { Button } from './button';
import { CopyButton } from './copy';
import { t } from './texts';
import { Icon } from './icon';
import { Words } from './words';

/** Up to how many milliseconds a wait is not worth telling. */
const SHORT_WAIT_MS = 5_000;

/** What an error says to a person. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const own = t.error(error.code);
    if (own && error.pauseMs > SHORT_WAIT_MS) return `${own} ${t.waits(duration(error.pauseMs))}`;
    return own ?? error.message;
  }
  return error instanceof Error ? error.message : t.failed;
}

/** An error where its result would be: what happened, what to do (`children` as well), and the request's id to copy. */
export function Problem({ error, onRetry, children }: { error: unknown; onRetry?: () => void; children?: ReactNode }) {
  const known = error instanceof ApiError ? error : undefined;
  return (
    <div role="alert" className="flex gap-3 rounded-card border border-bad bg-bad-soft p-3 text-ink">
      <Icon of={AlertTriangle} size={16} className="mt-0.5 shrink-0 text-bad" />
      <div className="min-w-0 flex-1 space-y-1">
        <p className="font-medium"><Words text={messageOf(error)} /></p>
        {/* where the words are ours they say what to do; the service's are for programs as well */}
        {known?.suggestion && !t.error(known.code) && <p><Words text={known.suggestion} /></p>}
        {known && known.issues.length > 0 && (
          <ul className="list-disc pl-4">
            {known.issues.map((issue) => (
              <li key={`${issue.field} ${issue.message}`}>
                {issue.field && <code className="font-mono">{issue.field}</code>} <Words text={issue.message} />
              </li>
            ))}
          </ul>
        )}
        {known?.requestId && (
          <p className="flex items-center gap-1 text-meta text-muted">
            {t.requestId} <code className="font-mono break-all">{known.requestId}</code>
            <CopyButton text={known.requestId} what={t.requestId} />
          </p>
        )}
        {onRetry && (
          <Button size="small" onClick={onRetry}>
            {t.retry}
          </Button>
        )}
        {children}
      </div>
    </div>
  );
}
