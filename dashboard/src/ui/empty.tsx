import type { ReactNode } from 'react';

/** What stands where nothing is yet: a sentence that teaches, and the first step. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 rounded-card border border-dashed border-control px-4 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="w-full max-w-prose text-muted">{children}</div>}
      {action}
    </div>
  );
}
