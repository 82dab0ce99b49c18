import { Download } from 'lucide';
import { download } from '#/api/client';
import { MailFrame } from '#/features/email/MailFrame';
import { bytes } from '#/i18n/format';
import { Button } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { failed } from '#/ui/toast';
import { Checks } from './Checks';
import type { Message } from './queries';
import { t } from './texts';

/** The parts of a mail. The first is shown first. */
export const VIEWS = ['html', 'text', 'headers', 'source', 'checks'] as const;
/** One of them. */
export type View = (typeof VIEWS)[number];

/** More of a source is not shown: nobody reads an attachment in base64. */
const MOST_SOURCE = 200_000;

/** A part of a captured mail. */
export function MailView({ mail, view }: { mail: Message; view: View }) {
  switch (view) {
    case 'html':
      return mail.html ? <MailFrame path={`/mailbox/${mail.id}/html`} fill /> : <p className="p-4 text-muted">{t.noHtml}</p>;
    case 'checks':
      return <Checks id={mail.id} />;
    case 'text':
      return mail.text ? (
        <pre className="p-4 font-sans break-words whitespace-pre-wrap">{mail.text}</pre>
      ) : (
        <p className="p-4 text-muted">{t.noText}</p>
      );
    case 'headers':
      return (
        <dl>
          {mail.headers.map((header, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- a name can stand there several times
            <div key={index} className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 border-b border-line px-4 py-1.5 last:border-0 sm:grid-cols-[11rem_minmax(0,1fr)]">
              <dt className="font-medium break-words">{header.name}</dt>
              <dd className="font-mono text-meta leading-5 break-words">{header.value}</dd>
            </div>
          ))}
        </dl>
      );
    case 'source':
      return (
        <div className="space-y-3 p-4">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <span className="text-muted">{mail.raw.length > MOST_SOURCE && t.cut(bytes(mail.size))}</span>
            <Button size="small" onClick={() => download(`/mailbox/${mail.id}/raw`, `${mail.id}.eml`).catch(failed)}>
              <Icon of={Download} size={14} />
              {t.downloadSource}
            </Button>
          </div>
          <pre className="font-mono text-meta break-all whitespace-pre-wrap">{mail.raw.slice(0, MOST_SOURCE)}</pre>
        </div>
      );
  }
}
