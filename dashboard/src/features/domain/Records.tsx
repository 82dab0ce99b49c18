import { Copyable, CopyButton } from '#/ui/copy';
import { Status, Tag, type Tone } from '#/ui/status';
import { Words } from '#/ui/words';
import { t as differences } from './difference-texts';
import type { DnsRecord } from './queries';
import { t } from './texts';

const TONES: Record<DnsRecord['status'], Tone> = {
  found: 'good',
  missing: 'warn',
  mismatch: 'bad',
  unavailable: 'muted',
  unchecked: 'muted',
};

/** What a record is for. `fresh`: its key waits to replace another one. */
function about({ purpose, required }: DnsRecord, isUnproven: boolean, fresh: boolean): string {
  if (purpose !== 'dkim') return t.purposeTexts[purpose];
  if (fresh) return t.dkimFresh;
  if (!required) return t.dkimSecond;
  return isUnproven ? t.dkimLater : t.purposeTexts.dkim;
}

/**
 * The records of a domain: what to publish, and what was found. `isUnproven`: the domain may send without them. `fresh` are
 * those of keys that wait to replace others.
 */
export function Records({
  records,
  isUnproven,
  fresh,
}: {
  records: readonly DnsRecord[];
  isUnproven: boolean;
  fresh: readonly DnsRecord[];
}) {
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="max-w-prose text-muted">{t.recordsText}</p>
        <CopyButton text={records.map((record) => record.zone).join('\n')} what={t.zoneFile} label={t.copyAll} />
      </div>
      <ul className="divide-y divide-line border-y border-line">
        {records.map((record) => (
          <OneRecord
            key={`${record.type} ${record.name} ${record.purpose}`}
            record={record}
            isUnproven={isUnproven}
            isFresh={fresh.includes(record)}
          />
        ))}
      </ul>
    </div>
  );
}

function OneRecord({ record, isUnproven, isFresh }: { record: DnsRecord; isUnproven: boolean; isFresh: boolean }) {
  const { purpose, required, status } = record;
  const isWrong = status === 'missing' || status === 'mismatch';
  return (
    <li className="space-y-2 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{t.purposes[purpose]}</span>
        {required && <Tag>{isUnproven ? t.requiredLater : t.required}</Tag>}
        {isFresh && <Tag>{t.fresh}</Tag>}
        <span className="ml-auto">
          <Status tone={required && status === 'missing' ? 'bad' : TONES[status]}>{t.states[status]}</Status>
        </span>
      </div>
      <p className="max-w-prose text-meta text-muted">{about(record, isUnproven, isFresh)}</p>
      <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1">
        <dt className="text-muted">{t.type}</dt>
        <dd className="font-mono text-meta">{record.type}</dd>
        <dt className="text-muted">{t.name}</dt>
        <dd className="min-w-0">
          <Copyable text={record.name} what={`${t.purposes[purpose]}: ${t.name}`} />
        </dd>
        {record.priority != null && (
          <>
            <dt className="text-muted">{t.priority}</dt>
            <dd className="font-mono text-meta">{record.priority}</dd>
          </>
        )}
        <dt className="text-muted">{t.value}</dt>
        <dd className="min-w-0">
          <Copyable text={record.value} what={`${t.purposes[purpose]}: ${t.value}`} />
        </dd>
        {status === 'mismatch' && record.found.length > 0 && (
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
        {isWrong && record.difference && (
          <>
            <dt className="text-muted">{t.difference}</dt>
            <dd className="min-w-0 break-words">
              <Words text={differences.words(record)} />
            </dd>
          </>
        )}
      </dl>
    </li>
  );
}
