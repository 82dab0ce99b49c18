import { useQuery } from '@tanstack/react-query';
import { Suspense, useMemo } from 'react';
import { lazyPart } from '#/router/lazy';
import { Skeleton } from '#/ui/skeleton';
import { fields } from '../queries';

const FilterEditor = lazyPart(() => import('./FilterEditor'));

/** Conditions on a contact, as segments have them. */
export function FilterField({ label, hint, name, value, error, eventName, onChange }: {
  label: string;
  hint: string;
  /** The path by which the API names it. */
  name: string;
  value: unknown;
  error?: string | undefined;
  /** The event whose data the conditions can look at; left out where there is none. */
  eventName?: string;
  /** `invalid` says that something is not filled in yet. */
  onChange: (value: unknown, invalid: boolean) => void;
}) {
  const { data } = useQuery({ ...fields(eventName ?? ''), enabled: eventName !== undefined });
  const context = useMemo(
    () => data?.fields.filter((field) => field.startsWith('event.')).map((field) => field.slice('event.'.length)),
    [data],
  );
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="font-medium">{label}</legend>
      <p className="text-meta text-muted">{hint}</p>
      <Suspense fallback={<Skeleton rows={3} />}>
        <FilterEditor name={name} label={label} value={value} error={error} context={eventName === undefined ? undefined : context} onChange={onChange} />
      </Suspense>
    </fieldset>
  );
}
