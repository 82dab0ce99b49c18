import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { currentProject } from '#/api/client';
import { PreviewFrame } from '#/editor/preview/PreviewFrame';
import { lazyPart } from '#/router/lazy';
import { Button } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Facts } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { t } from './texts';
import { type Current, version, type VersionSource } from './versions';

const Comparison = lazyPart(() => import('#/editor/code/Comparison'));

type Said = Pick<Current, 'subject' | 'body' | 'from' | 'fromName'>;

function sender({ from, fromName }: Said): string {
  return fromName ? `${fromName} <${from}>` : from;
}

/** A former version beside the current one: how they look, and what they are made from. */
export function VersionCompare<T extends Current>({ stored, source, number, onClose, onRestore }: {
  stored: T;
  source: VersionSource<T>;
  number: number;
  onClose: () => void;
  /** Left out where nothing can be restored. */
  onRestore?: () => void;
}) {
  const [shown, setShown] = useState<'rendered' | 'sources'>('rendered');
  const { data: former, error, refetch } = useQuery(version(source, stored.id, number));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!former) return <Skeleton rows={9} />;
  // MJML is compared with MJML; where one of them has none, what is sent is compared
  const both = former.mjml && stored.mjml ? { before: former.mjml, now: stored.mjml } : { before: former.body, now: stored.body };
  const rows = [
    ...(former.subject === stored.subject ? [] : ([[t.subjectBefore, former.subject], [t.subjectNow, stored.subject]] as const)),
    ...(sender(former) === sender(stored) ? [] : ([[t.senderThen, sender(former)], [t.senderNow, sender(stored)]] as const)),
  ];
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Button size="small" variant="ghost" onClick={onClose}>
          {t.close}
        </Button>
        <div className="flex flex-wrap gap-2">
          {(['rendered', 'sources'] as const).map((name) => (
            <Button
              key={name}
              size="small"
              aria-pressed={shown === name}
              className={classes(shown === name && 'bg-accent-soft! text-accent')}
              onClick={() => setShown(name)}
            >
              {t[name]}
            </Button>
          ))}
          {onRestore && (
            <Button size="small" variant="primary" onClick={onRestore}>
              {t.restoreThis(number)}
            </Button>
          )}
        </div>
      </div>
      {rows.length > 0 && <Facts rows={rows} />}
      {shown === 'sources' ? (
        <Suspense fallback={<Skeleton rows={9} />}>
          <Comparison before={both.before} now={both.now} former={t.former(number)} current={t.current} />
        </Suspense>
      ) : (
        <div className="grid gap-3 md:grid-cols-2">
          <Look title={t.former(number)} said={former} type={stored.type} />
          <Look title={t.current} said={stored} type={stored.type} />
        </div>
      )}
    </div>
  );
}

function Look({ title, said, type }: { title: string; said: Said; type: Current['type'] }) {
  const fields = { projectId: currentProject(), subject: said.subject, body: said.body, type };
  return (
    <section aria-label={title} className="overflow-hidden rounded-card border border-line bg-panel">
      <h2 className="border-b border-line px-3 py-1.5 font-medium">{title}</h2>
      <PreviewFrame fields={fields} title={title} className="h-[36rem]" />
    </section>
  );
}
