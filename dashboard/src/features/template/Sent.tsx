import { useQuery } from '@tanstack/react-query';
import { compact, percent } from '#/i18n/format';
import { Link } from '#/router';
import { templateStats } from './queries';
import { t } from './texts';

/** How many mails were made from a template, and the share of those that were opened. Leads to the mails. */
export function Sent({ id }: { id: string }) {
  const { data } = useQuery(templateStats(id));
  if (!data) return <span className="text-muted">…</span>;
  if (data.emails === 0) return <span className="text-muted">–</span>;
  return (
    <Link to={`/templates/${id}`} search={{ tab: 'results' }} className="hover:underline">
      {compact(data.emails)} <span className="text-muted">· {t.opened.toLowerCase()} {percent(data.opened / data.emails)}</span>
    </Link>
  );
}
