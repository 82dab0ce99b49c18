import { Copyable, CopyButton } from '#/ui/copy';
import { Status, Tag, type Tone } from '#/ui/status';
import type { DnsRecord } from './queries';
import { t } from './texts';
import { zoneFile } from './zone';

const TONES: Record<DnsRecord['status'], Tone> = {
  found: 'good',
  missing: 'warn',
  mismatch: 'bad',
  unavailable: 'muted',
  unchecked: 'muted',
};

/** The records of a domain: what to publish, and what was found. `isUnproven`: the domain may send without them. */
export function Records({ records, isUnproven }: { records: readonly DnsRecord[]; isUnproven: boolean }) {
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="max-w-prose text-muted">{t.recordsText}</p>
        <CopyButton text={zoneFile(records)} what={t.zoneFile} label={t.copyAll} />
      </div>
      <ul className="divide-y divide-line border-y border-line">
        {records.map((record) => (
          <li key={`${record.type} ${record.name} ${record.purpose}`} className="space-y-2 py-3">
            <div className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{t.purposes[record.purpose]}</span>
              {record.required && <Tag>{isUnproven ? t.requiredLater : t.required}</Tag>}
              <span className="ml-auto">
                <Status tone={record.required && record.status === 'missing' ? 'bad' : TONES[record.status]}>
                  {t.states[record.status]}
                </Status>
              </span>
            </div>
            <p className="max-w-prose text-meta text-muted">{isUnproven && record.purpose === 'dkim' ? t.dkimLater : t.purposeTexts[record.purpose]}</p>
            <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1">
              <dt className="text-muted">{t.type}</dt>
              <dd className="font-mono text-meta">{record.type}</dd>
              <dt className="text-muted">{t.name}</dt>
              <dd className="min-w-0">
                <Copyable text={record.name} what={`${t.purposes[record.purpose]}: ${t.name}`} />
              </dd>
              {record.priority != null && (
                <>
                  <dt className="text-muted">{t.priority}</dt>
                  <dd className="font-mono text-meta">{record.priority}</dd>
                </>
              )}
              <dt className="text-muted">{t.value}</dt>
              <dd className="min-w-0">
                <Copyable text={record.value} what={`${t.purposes[record.purpose]}: ${t.value}`} />
              </dd>
              {record.difference != null && (
                <>
                  <dt className="text-muted">{t.difference}</dt>
                  <dd className="min-w-0 max-w-prose break-words" lang="en">
                    {record.difference}
                  </dd>
                </>
              )}
              {record.status === 'mismatch' && record.found.length > 0 && (
                <>
                  <dt className="text-muted">{t.found}</dt>
                  <dd className="min-w-0 space-y-1">
                    {record.found.map((value) => (
                      <code key={value} className="block font-mono text-meta break-all text-bad">
                        {value}
                      </code>
                    ))}
                  </dd>
                </>
              )}
            </dl>
          </li>
        ))}
      </ul>
    </div>
  );
}
