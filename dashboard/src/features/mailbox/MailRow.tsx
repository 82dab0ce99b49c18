import { memo, type MouseEvent } from 'react';
import { ago, moment } from '#/i18n/format';
import { Link } from '#/router';
import { classes } from '#/ui/classes';
import type { Captured } from './queries';
import { t } from './texts';

/** A captured mail in the list. `onOpen` may open it beside the list instead of on a page of its own. */
export const MailRow = memo(function MailRow({
  mail,
  current,
  unread,
  onOpen,
}: {
  mail: Captured;
  current: boolean;
  unread: boolean;
  onOpen: (mail: Captured, event: MouseEvent) => void;
}) {
  return (
    <li className="border-b border-line last:border-0">
      <Link
        to={`/mailbox/${mail.id}`}
        current={current}
        data-mail={mail.id}
        onClick={(event) => onOpen(mail, event)}
        className={classes(
          'block px-3 py-2 hover:bg-raised focus-visible:outline-offset-[-2px]',
          'aria-[current=page]:bg-accent-soft',
        )}
      >
        <span className="flex items-baseline justify-between gap-2">
          <span className={classes('min-w-0 truncate', unread && 'font-semibold')}>{mail.subject || t.noSubject}</span>
          <time dateTime={mail.createdAt} title={moment(mail.createdAt)} className="tabular shrink-0 text-meta text-muted">
            {ago(mail.createdAt)}
          </time>
        </span>
        <span className="flex items-center justify-between gap-2 text-meta text-muted">
          <span className="min-w-0 truncate">{mail.to}</span>
          {unread && (
            <span className="inline-flex shrink-0 items-center gap-1 font-medium text-accent">
              <span aria-hidden className="size-2 rounded-full bg-accent" />
              {t.unread}
            </span>
          )}
        </span>
      </Link>
    </li>
  );
});
