import { useQuery } from '@tanstack/react-query';
import { Paperclip, Trash2 } from 'lucide';
import { type KeyboardEvent, useState } from 'react';
import { download } from '#/api/client';
import { bytes, moment } from '#/i18n/format';
import { Button, IconButton, TextLink } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Confirm } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { done, failed } from '#/ui/toast';
import { MailView, VIEWS, type View } from './MailView';
import { message, removeMail } from './queries';
import { t } from './texts';

/** A captured mail: who it is from and to, and its parts one at a time. */
export function Reader({
  id,
  view,
  onView,
  onRemoved,
  isPage = false,
}: {
  id: string;
  view: View;
  onView: (view: View) => void;
  onRemoved: () => void;
  /** Whether it is the page itself, whose title says the subject. */
  isPage?: boolean;
}) {
  const mail = useQuery(message(id));
  const [removing, setRemoving] = useState(false);
  if (mail.error && !mail.data) {
    return (
      <div className="p-4">
        <Problem error={mail.error} onRetry={() => void mail.refetch()} />
      </div>
    );
  }
  if (!mail.data) return <Skeleton rows={9} className="p-4" />;
  // the arrows go from part to part, as in every list of tabs
  const turn = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next = VIEWS[(VIEWS.indexOf(view) + by + VIEWS.length) % VIEWS.length];
    if (by === 0 || !next) return;
    event.preventDefault();
    onView(next);
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  const { subject, from, to, createdAt, size, attachments } = mail.data;
  return (
    <article className="flex min-h-0 flex-1 flex-col" aria-label={subject || t.noSubject}>
      <header className="space-y-1 border-b border-line p-4 pb-0">
        <div className="flex items-start justify-between gap-3">
          {isPage ? <span /> : <h2 className="min-w-0 text-section font-semibold break-words">{subject || t.noSubject}</h2>}
          <div className="flex shrink-0 items-center gap-2">
            <TextLink to={`/emails/${id}`} className="text-meta">
              {t.details}
            </TextLink>
            <IconButton label={t.remove} size="small" onClick={() => setRemoving(true)}>
              <Icon of={Trash2} size={14} />
            </IconButton>
          </div>
        </div>
        <p className="flex flex-wrap justify-between gap-x-4 text-muted">
          <span className="min-w-0 break-words">
            {t.from} <span className="text-ink">{from}</span> · {t.to} <span className="text-ink">{to}</span>
          </span>
          <span className="tabular text-meta leading-5">
            {moment(createdAt)} · {bytes(size)}
          </span>
        </p>
        {attachments.length > 0 && (
          <ul aria-label={t.attachments} className="flex flex-wrap gap-2 pt-1">
            {attachments.map((file, index) => (
              <li
                // oxlint-disable-next-line react/no-array-index-key -- its place is its id
                key={index}
                className="max-w-full"
              >
                <Button
                  size="small"
                  className="max-w-full"
                  aria-label={`${t.download}: ${file.filename}`}
                  onClick={() => download(`/mailbox/${id}/attachments/${index}`, file.filename).catch(failed)}
                >
                  <Icon of={Paperclip} size={12} />
                  <span className="min-w-0 truncate">{file.filename}</span>
                  <span className="text-muted">{bytes(file.size)}</span>
                </Button>
              </li>
            ))}
          </ul>
        )}
        <div role="tablist" aria-label={t.views} className="flex gap-1 overflow-x-auto pt-1">
          {VIEWS.map((one) => (
            <button
              key={one}
              type="button"
              role="tab"
              id={`tab-${one}`}
              aria-selected={one === view}
              aria-controls="mail-part"
              tabIndex={one === view ? 0 : -1}
              onKeyDown={turn}
              onClick={() => onView(one)}
              className={classes(
                'border-b-2 px-2 py-1.5 font-medium whitespace-nowrap focus-visible:outline-offset-[-2px]',
                one === view ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink',
              )}
            >
              {t.view[one]}
            </button>
          ))}
        </div>
      </header>
      <div role="tabpanel" id="mail-part" aria-labelledby={`tab-${view}`} className="flex min-h-0 flex-1 flex-col overflow-auto">
        {isPage && <h2 className="sr-only">{t.view[view]}</h2>}
        <MailView mail={mail.data} view={view} />
      </div>
      <Confirm
        open={removing}
        onClose={() => setRemoving(false)}
        title={t.remove}
        action={t.remove}
        onConfirm={async () => {
          await removeMail(id, onRemoved);
          done(t.removed);
        }}
      >
        <p>{t.removeText}</p>
      </Confirm>
    </article>
  );
}
