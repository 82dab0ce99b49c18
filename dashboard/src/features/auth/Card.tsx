import { type ReactNode, useEffect } from 'react';
import { t } from './texts';

/** A page for somebody who is not in a project: one card in the middle. */
export function Card({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Mailwright`;
  }, [title]);
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-md flex-col justify-center gap-6 p-4">
      <div className="text-center">
        <p className="text-section font-semibold">Mailwright</p>
        <p className="text-muted">{t.tagline}</p>
      </div>
      <div className="space-y-4 rounded-dialog border border-line bg-panel p-6">
        <div>
          <h1 className="text-page font-semibold">{title}</h1>
          {lead && <p className="mt-1 text-muted">{lead}</p>}
        </div>
        {children}
      </div>
    </main>
  );
}
