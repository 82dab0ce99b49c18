import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '#/api/client';
import { bytes } from '#/i18n/format';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Status, type Tone } from '#/ui/status';
import { Table } from '#/ui/table';
import { checks } from './queries';
import { t } from './texts';

type Found = Schemas['MailChecks'];

const DKIM: Record<Found['authentication']['dkim'], Tone> = { VALID: 'good', INVALID: 'bad', KEY_GONE: 'warn', MISSING: 'bad' };

function Finding({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <li className="[&>span]:items-baseline [&>span]:whitespace-normal">
      <Status tone={tone}>{children}</Status>
    </li>
  );
}

/** Who sent it, as mail programs ask. */
function Sender({ found }: { found: Found['authentication'] }) {
  return (
    <>
      <Finding tone={DKIM[found.dkim]}>{t.dkim[found.dkim](found.dkimDomain ?? '')}</Finding>
      {found.dkim !== 'MISSING' && <Finding tone={found.isAligned ? 'good' : 'bad'}>{found.isAligned ? t.aligned : t.notAligned}</Finding>}
      {typeof found.isDomainVerified === 'boolean' && (
        <Finding tone={found.isDomainVerified ? 'good' : 'bad'}>
          {found.isDomainVerified ? t.domainVerified : t.domainNotVerified}
        </Finding>
      )}
      <Finding tone={found.isOneClick ? 'good' : 'muted'}>
        {found.isOneClick ? t.unsubscribe : found.hasListUnsubscribe ? t.unsubscribeTwoClicks : t.noUnsubscribe}
      </Finding>
    </>
  );
}

/** What a look at a captured mail found: only facts, and no link was followed. */
export function Checks({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(checks(id));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={6} className="p-4" />;
  const { size, images, links, warnings } = data;
  return (
    <div className="space-y-5 p-4">
      <section className="space-y-2">
        <h3 className="font-semibold">{t.sender}</h3>
        <ul className="space-y-1">
          <Sender found={data.authentication} />
          {warnings.map((warning) => (
            <Finding key={warning.code} tone="warn">
              {t.warning(warning)}
            </Finding>
          ))}
        </ul>
      </section>
      <section className="space-y-2">
        <h3 className="font-semibold">{t.size}</h3>
        <ul className="space-y-1">
          <Finding tone={size.isClipped ? 'warn' : 'good'}>
            {size.isClipped ? t.clipped(bytes(size.htmlBytes), bytes(size.clippedFrom)) : t.fits(bytes(size.htmlBytes))}
          </Finding>
          {images.count > 0 && (
            <Finding tone={images.withoutAlt.length > 0 ? 'warn' : 'good'}>
              {t.pictures(images.count)}. {images.withoutAlt.length > 0 ? t.undescribed(images.withoutAlt.length) : t.allDescribed}{' '}
              <span className="font-mono text-meta break-all">{images.withoutAlt.join(', ')}</span>
            </Finding>
          )}
        </ul>
      </section>
      <section className="space-y-2">
        <h3 className="font-semibold">{t.links}</h3>
        {links.length === 0 ? (
          <p className="text-muted">{t.noLinks}</p>
        ) : (
          <Table
            label={t.links}
            rows={links.map((link, index) => ({ link, index }))}
            rowKey={(row) => String(row.index)}
            columns={[
              {
                name: t.finding,
                cell: ({ link }) => (
                  <Status tone={link.problem ? 'warn' : 'good'}>{link.problem ? t.problems[link.problem] : t.fine}</Status>
                ),
              },
              { name: t.linkText, cell: ({ link }) => <span className="block max-w-48 break-words">{link.text || '–'}</span> },
              {
                name: t.target,
                cell: ({ link }) => (
                  <span className="block min-w-40 font-mono text-meta break-all">
                    {link.href}
                    {link.isTracked && <span className="font-sans text-muted"> ({t.tracked})</span>}
                  </span>
                ),
              },
            ]}
          />
        )}
        <p className="text-meta text-muted">
          {t.looked} {data.isCut && t.cutChecks}
        </p>
      </section>
    </div>
  );
}
