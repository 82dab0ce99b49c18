import { useQuery } from '@tanstack/react-query';
import type { Search } from '#/router';
import { LinkButton } from '#/ui/button';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, type Tone } from '#/ui/status';
import { Time } from '#/ui/time';
import { attention, type AttentionItem } from './queries';
import { t } from './texts';

const TONES: Record<AttentionItem['severity'], Tone> = { critical: 'bad', warning: 'warn', info: 'accent' };

/** Where something can be looked at and mended. */
function placeOf({ target, kind }: AttentionItem): { to: string; search?: Search } {
  switch (target.kind) {
    case 'domain':
      return { to: '/settings', search: { tab: 'domains' } };
    case 'project':
    case 'security':
      return { to: '/settings', search: { tab: 'security' } };
    case 'billing':
      return { to: '/settings', search: { tab: 'billing' } };
    case 'campaign':
      return target.id ? { to: `/campaigns/${target.id}` } : { to: '/campaigns' };
    case 'job':
      return target.id ? { to: '/contacts/import', search: { job: target.id } } : { to: '/contacts/import' };
    case 'user':
      return { to: '/account' };
    case 'emails':
      return kind === 'MAILS_IN_DOUBT' ? { to: '/emails', search: { status: 'IN_DOUBT' } } : { to: '/delivery' };
    case 'held':
    case 'delivery':
      return { to: '/delivery' };
    default:
      return { to: '/activity' };
  }
}

/** What needs a person, and the way there. */
export function AttentionList() {
  const found = useQuery(attention());
  if (found.error && !found.data) return <Problem error={found.error} onRetry={() => void found.refetch()} />;
  return (
    <Section title={t.attention}>
      {!found.data ? (
        <Skeleton rows={2} />
      ) : found.data.items.length === 0 ? (
        <Status tone="good">{t.calm}</Status>
      ) : (
        <ul className="-my-2 divide-y divide-line">
          {found.data.items.map((item) => (
            <Item key={`${item.kind} ${item.target.id ?? ''} ${item.title}`} item={item} />
          ))}
        </ul>
      )}
      {found.data?.hasMore && <p className="mt-3 text-muted">{t.more}</p>}
    </Section>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const { title, detail } = t.words(item);
  return (
    <li className="flex flex-wrap items-start gap-3 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Status tone={TONES[item.severity]}>{t.severities[item.severity]}</Status>
          <span className="font-medium break-words">{title}</span>
          {item.since && (
            <span className="text-muted">
              <Time at={item.since} />
            </span>
          )}
        </p>
        <p className="mt-1 max-w-prose text-pretty break-words text-muted">{detail}</p>
      </div>
      <LinkButton size="small" aria-label={`${t.look}: ${title}`} {...placeOf(item)}>
        {t.look}
      </LinkButton>
    </li>
  );
}
