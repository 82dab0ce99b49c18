import { useQueries } from '@tanstack/react-query';
import { emailsIn, type EmailStatus } from '#/features/email/queries';
import { TONES } from '#/features/email/status';
import { t as emailTexts } from '#/features/email/texts';
import { number } from '#/i18n/format';
import { Link } from '#/router';
import { Status } from '#/ui/status';
import { t } from './texts';

const SHOWN: readonly EmailStatus[] = ['PENDING', 'SENDING', 'IN_DOUBT', 'FAILED', 'BOUNCED', 'SUPPRESSED'];

/** How many mails stand where. Each number leads to them. */
export function States() {
  const counts = useQueries({ queries: SHOWN.map((status) => emailsIn({ status }, 1)) });
  return (
    <section
      aria-label={t.now}
      className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-3 lg:grid-cols-6"
    >
      {SHOWN.map((status, index) => {
        const total = counts[index]?.data?.total;
        return (
          <Link
            key={status}
            to="/emails"
            search={{ status }}
            className="min-w-0 bg-panel px-3 py-2.5 hover:bg-raised focus-visible:outline-offset-[-2px]"
          >
            <span className="block truncate text-muted">
              <Status tone={total ? TONES[status] : 'muted'}>{emailTexts.statuses[status]}</Status>
            </span>
            <span className="tabular text-figure font-semibold">{total === undefined ? '–' : number(total)}</span>
          </Link>
        );
      })}
    </section>
  );
}
