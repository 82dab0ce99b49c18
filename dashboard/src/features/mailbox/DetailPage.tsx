import { useQuery } from '@tanstack/react-query';
import { ArrowLeft } from 'lucide';
import { go, oneOf, useParam, useSearchState } from '#/router';
import { TextLink } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Page } from '#/ui/page';
import { VIEWS } from './MailView';
import { message } from './queries';
import { Reader } from './Reader';
import { t } from './texts';

const SEARCH = { view: oneOf(VIEWS) };

/** A captured mail on a page of its own, as on phones and for links. */
export default function CapturedPage() {
  const id = useParam('id');
  const [search, setSearch] = useSearchState(SEARCH);
  const mail = useQuery(message(id));
  return (
    <Page
      title={mail.data ? mail.data.subject || t.noSubject : t.reader}
      above={
        <TextLink to="/mailbox" search={{ mail: id }} className="inline-flex items-center gap-1 text-meta">
          <Icon of={ArrowLeft} size={12} />
          {t.back}
        </TextLink>
      }
    >
      <div className="flex min-h-[60dvh] flex-col overflow-hidden rounded-card border border-line bg-panel">
        <Reader
          id={id}
          view={search.view}
          onView={(view) => setSearch({ view })}
          onRemoved={() => go('/mailbox', { replace: true })}
          isPage
        />
      </div>
    </Page>
  );
}
