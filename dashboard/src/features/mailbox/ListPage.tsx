import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide';
import { type MouseEvent, useCallback, useEffect, useMemo, useState } from 'react';
import { useProject } from '#/features/project/open';
import { number } from '#/i18n/format';
import { oneOf, text, useSearchState } from '#/router';
import { useShortcuts } from '#/shell/shortcuts';
import { Button, LinkButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { useMedia } from '#/ui/media';
import { Page } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Banner } from '#/ui/status';
import { done } from '#/ui/toast';
import { useArrivals } from './arrivals';
import { MailRow } from './MailRow';
import { VIEWS } from './MailView';
import { type Captured, clearMailbox, leavesTo, mailbox } from './queries';
import { Reader } from './Reader';
import { t } from './texts';

const SEARCH = { mail: text, view: oneOf(VIEWS) };
/** From this width on, the mail stands beside the list. */
const WIDE = '(min-width: 64rem)';

/** The mails that were captured, as a mail program shows them: the list, and beside it the mail. */
export default function MailboxPage() {
  const project = useProject();
  const [search, setSearch] = useSearchState(SEARCH);
  const isWide = useMedia(WIDE);
  const list = useInfiniteQuery(mailbox());
  const host = useQuery(leavesTo());
  const arrived = useArrivals();
  const [read, setRead] = useState<ReadonlySet<string>>(new Set());
  const [clearing, setClearing] = useState(false);
  const mails = useMemo(() => list.data?.pages.flatMap((page) => page.data) ?? [], [list.data]);
  const total = list.data?.pages[0]?.total ?? 0;
  const unread = useMemo(
    () => new Set(arrived.map((mail) => mail.id).filter((id) => !read.has(id))),
    [arrived, read],
  );
  const open = search.mail;
  const openMail = useCallback(
    (id: string) => {
      setSearch({ mail: id });
      setRead((before) => new Set(before).add(id));
    },
    [setSearch],
  );
  // the newest one is what somebody comes for
  const first = mails[0]?.id;
  useEffect(() => {
    if (isWide && !open && first) openMail(first);
  }, [isWide, open, first, openMail]);
  // a link to a mail further down shows it in the list as well
  const isThere = mails.length > 0;
  useEffect(() => {
    if (isThere) document.querySelector('[data-mail][aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [isThere]);
  const follow = useCallback(
    (mail: Captured, event: MouseEvent) => {
      if (!isWide || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      openMail(mail.id);
    },
    [isWide, openMail],
  );
  const keys = useMemo(() => {
    const step = (by: number) => () => {
      const links = [...document.querySelectorAll<HTMLElement>('[data-mail]')];
      const focused = links.findIndex((link) => link === document.activeElement);
      const at = focused >= 0 ? focused : mails.findIndex((mail) => mail.id === open);
      const next = links[Math.max(0, Math.min(links.length - 1, at + by))];
      next?.focus();
      next?.scrollIntoView({ block: 'nearest' });
      if (isWide && next?.dataset.mail) openMail(next.dataset.mail);
    };
    return { j: step(1), k: step(-1) };
  }, [mails, open, isWide, openMail]);
  useShortcuts(keys);
  const removed = () => {
    const at = mails.findIndex((mail) => mail.id === open);
    setSearch({ mail: (mails[at + 1] ?? mails[at - 1])?.id ?? '' });
  };

  return (
    <Page
      title={t.title}
      full
      lead={host.data ? undefined : t.lead}
      actions={
        mails.length > 0 && (
          <Button onClick={() => setClearing(true)}>
            <Icon of={Trash2} size={14} />
            {t.clear}
          </Button>
        )
      }
    >
      {host.data && (
        <Banner tone="warn" action={<LinkButton to="/emails">{t.toEmails}</LinkButton>}>
          {t.leaves(host.data)} {t.leavesMore}
        </Banner>
      )}
      <p role="status" className="sr-only">
        {unread.size > 0 && t.arrived(unread.size, arrived[0]?.subject ?? '')}
      </p>
      {list.error && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton rows={9} />}
      {list.isSuccess && mails.length === 0 && <Empty title={t.empty}>{host.data ? t.emptyLeaves : t.emptyText}</Empty>}
      {mails.length > 0 && (
        <div className="grid overflow-hidden rounded-card border border-line bg-panel lg:h-[calc(100dvh-9rem)] lg:min-h-96 lg:grid-cols-[20rem_minmax(0,1fr)]">
          <section aria-label={t.list} className="flex min-h-0 min-w-0 flex-col lg:border-r lg:border-line">
            <p className="flex justify-between border-b border-line px-3 py-1.5 text-meta text-muted">
              <span className="tabular">{t.count(total)}</span>
              <span title={t.keys} className="max-lg:hidden">
                <kbd>J</kbd> <kbd>K</kbd>
              </span>
            </p>
            <ul className="min-h-0 flex-1 lg:overflow-y-auto">
              {mails.map((mail) => (
                <MailRow key={mail.id} mail={mail} current={isWide && mail.id === open} unread={unread.has(mail.id)} onOpen={follow} />
              ))}
              {list.hasNextPage && (
                <li className="p-3">
                  <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                    {t.older}
                  </Button>
                </li>
              )}
            </ul>
          </section>
          {isWide && (
            <section aria-label={t.reader} className="flex min-h-0 min-w-0 flex-col">
              {open ? (
                <Reader key={open} id={open} view={search.view} onView={(view) => setSearch({ view })} onRemoved={removed} />
              ) : (
                <p className="m-auto text-muted">{t.choose}</p>
              )}
            </section>
          )}
        </div>
      )}
      <Confirm
        open={clearing}
        onClose={() => setClearing(false)}
        title={t.clear}
        action={t.clear}
        typed={project.name}
        onConfirm={async () => {
          await clearMailbox();
          setSearch({ mail: '' });
          done(t.cleared);
        }}
      >
        <p>
          {t.clearText} ({number(total)})
        </p>
      </Confirm>
    </Page>
  );
}
