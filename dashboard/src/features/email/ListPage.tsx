import { useCallback, useState } from 'react';
import { ScopeFilter } from '#/features/activity/ScopeFilter';
import { ago, moment, number } from '#/i18n/format';
import { type Codec, go, Link, text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Empty } from '#/ui/empty';
import { Select } from '#/ui/form';
import { Page } from '#/ui/page';
import { Refresh } from '#/ui/refresh';
import { Status } from '#/ui/status';
import { ContactFilter } from './ContactFilter';
import { type Email, emails, type EmailStatus } from './queries';
import { STATUSES, TONES } from './status';
import { t } from './texts';

const status: Codec<EmailStatus | ''> = {
  read: (given) => STATUSES.find((one) => one === given) ?? '',
  write: (value) => value,
};
const SEARCH = { status, contact: text };

const COLUMNS: readonly ListColumn<Email>[] = [
  { name: t.status, width: '8.5rem', cell: (mail) => <Status tone={TONES[mail.status]}>{t.statuses[mail.status]}</Status> },
  {
    name: t.subject,
    width: 'minmax(0,3fr)',
    cell: (mail) => (
      // a link, so that it can be opened in a tab of its own; the row has the focus
      <Link to={`/emails/${mail.id}`} tabIndex={-1} onClick={(event) => event.stopPropagation()} className="hover:underline">
        {mail.subject || t.noSubject}
      </Link>
    ),
  },
  { name: t.to, width: 'minmax(0,2fr)', wideOnly: true, cell: (mail) => mail.to },
  { name: t.source, width: '6rem', wideOnly: true, cell: (mail) => t.sources[mail.sourceType] },
  { name: t.opens, width: '4.5rem', right: true, wideOnly: true, cell: (mail) => (mail.opens > 0 ? number(mail.opens) : <span className="text-muted">–</span>) },
  { name: t.clicks, width: '3.5rem', right: true, wideOnly: true, cell: (mail) => (mail.clicks > 0 ? number(mail.clicks) : <span className="text-muted">–</span>) },
  {
    name: t.when,
    width: '6.5rem',
    right: true,
    cell: (mail) => (
      <time dateTime={mail.createdAt} title={moment(mail.createdAt)}>
        {ago(mail.createdAt)}
      </time>
    ),
  },
];

/** The mails of the project, newest first: those that were sent, and those that came in. */
export default function EmailsPage() {
  const [search, setSearch] = useSearchState(SEARCH);
  const [reading, setReading] = useState(0);
  const query = {
    ...(search.status ? { status: search.status } : {}),
    ...(search.contact ? { contactId: search.contact } : {}),
  };
  const choose = useCallback((contact: string) => setSearch({ contact }), [setSearch]);
  const isFiltered = search.status !== '' || search.contact !== '';
  const clear = () => setSearch({ status: '', contact: '' });
  return (
    <Page title={t.title} full actions={<Refresh onRefresh={() => setReading((before) => before + 1)} />}>
      <div className="flex h-[calc(100dvh-7.5rem)] min-h-96 flex-col gap-3">
        <div className="flex flex-wrap items-center gap-2">
          <div className="w-44">
            <Select
              label={t.status}
              hideLabel
              value={search.status}
              onChange={(event) => setSearch({ status: status.read(event.target.value) })}
            >
              <option value="">{t.anyStatus}</option>
              {STATUSES.map((one) => (
                <option key={one} value={one}>
                  {t.statuses[one]}
                </option>
              ))}
            </Select>
          </div>
          {search.contact ? (
            <ScopeFilter scope="contact" id={search.contact} onRemove={() => setSearch({ contact: '' })} />
          ) : (
            <ContactFilter onChoose={choose} />
          )}
        </div>
        <CursorList
          label={t.list}
          source={emails(query, reading)}
          columns={COLUMNS}
          rowKey={(mail) => mail.id}
          rowLabel={(mail) => `${mail.subject || t.noSubject}, ${mail.to}, ${t.statuses[mail.status]}`}
          onOpen={(mail) => go(`/emails/${mail.id}`)}
          empty={
            <Empty
              title={isFiltered ? t.emptyFiltered : t.empty}
              action={isFiltered ? <Button onClick={clear}>{t.clear}</Button> : undefined}
            >
              {isFiltered ? t.emptyFilteredText : t.emptyText}
            </Empty>
          }
        />
      </div>
    </Page>
  );
}
