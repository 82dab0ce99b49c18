import { Copyable } from '#/ui/copy';
import { t } from './texts';

/** A DMARC record to publish. */
export function DnsValue({ name, value }: { name: string; value: string }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1 text-left">
      <dt className="text-muted">{t.name}</dt>
      <dd className="min-w-0">
        <Copyable text={name} what={`${t.record}: ${t.name}`} />
      </dd>
      <dt className="text-muted">{t.value}</dt>
      <dd className="min-w-0">
        <Copyable text={value} what={`${t.record}: ${t.value}`} />
      </dd>
    </dl>
  );
}
