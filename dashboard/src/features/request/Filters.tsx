import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import type { ErrorCode } from '#/api/error';
import { useProject } from '#/features/project/open';
import { Select, TextField } from '#/ui/form';
import { keys } from './queries';
import { t } from './texts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** The codes that people meet; any other one can stand in the address. */
const CODES: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'BAD_REQUEST',
  'INVALID_API_KEY',
  'MISSING_AUTH',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RESOURCE_NOT_FOUND',
  'CONTACT_NOT_FOUND',
  'TEMPLATE_NOT_FOUND',
  'CAMPAIGN_NOT_FOUND',
  'WORKFLOW_NOT_FOUND',
  'CONFLICT',
  'IDEMPOTENCY_KEY_REUSED',
  'RATE_LIMIT_EXCEEDED',
  'BILLING_LIMIT_EXCEEDED',
  'PAYLOAD_TOO_LARGE',
  'PROJECT_DISABLED',
  'INTERNAL_SERVER_ERROR',
  'SERVICE_UNAVAILABLE',
];
/** How long somebody has not typed before it is searched, in milliseconds. */
const PAUSE_MS = 250;

/** A text of the address, which follows what is typed after a pause. */
function Typed({ label, value, placeholder, onChange, isSearch = false }: {
  label: string;
  value: string;
  placeholder?: string;
  onChange: (value: string) => void;
  isSearch?: boolean;
}) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return;
    const timer = setTimeout(() => onChange(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return (
    <TextField
      label={label}
      hideLabel
      placeholder={placeholder ?? label}
      value={typed}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setTyped(event.target.value)}
      {...(isSearch ? { 'data-search': true } : {})}
    />
  );
}

/** What the filters hold, as the address has it. */
export interface RequestFilter {
  key: string;
  status: string;
  code: string;
  method: string;
  route: string;
  id: string;
}

/** Chooses requests. `onChange` must stay the same, so that typing is not interrupted. */
export function Filters({
  filter,
  onChange,
  children,
}: {
  filter: RequestFilter;
  onChange: (change: Partial<RequestFilter>) => void;
  /** Further filters. */
  children: ReactNode;
}) {
  const known = useQuery(keys(useProject().id));
  const [by] = useState(() => ({
    id: (id: string) => onChange({ id }),
    route: (route: string) => onChange({ route }),
  }));
  const codes = filter.code && !CODES.some((code) => code === filter.code) ? [...CODES, filter.code] : CODES;
  const statuses = Object.entries(t.statuses);
  if (!(filter.status in t.statuses)) statuses.push([filter.status, filter.status]);
  return (
    <div role="search" aria-label={t.filters} className="grid min-w-0 grid-cols-2 gap-2 max-sm:w-full sm:flex sm:flex-wrap">
      <div className="sm:w-48">
        <Typed label={t.requestId} value={filter.id} onChange={by.id} isSearch />
      </div>
      <div className="sm:w-36">
        <Select label={t.status} hideLabel value={filter.status} onChange={(event) => onChange({ status: event.target.value })}>
          {statuses.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Select>
      </div>
      <div className="sm:w-44">
        <Select label={t.code} hideLabel value={filter.code} onChange={(event) => onChange({ code: event.target.value })}>
          <option value="">{t.anyCode}</option>
          {codes.map((code) => (
            <option key={code}>{code}</option>
          ))}
        </Select>
      </div>
      <div className="sm:w-40">
        <Typed label={t.route} placeholder={t.routePlaceholder} value={filter.route} onChange={by.route} />
      </div>
      <div className="sm:w-36">
        <Select label={t.key} hideLabel value={filter.key} onChange={(event) => onChange({ key: event.target.value })}>
          <option value="">{t.anyKey}</option>
          {known.data?.map((key) => (
            <option key={key.id} value={key.id}>
              {key.name ?? key.hint ?? key.kind}
            </option>
          ))}
          {filter.key && !known.data?.some((key) => key.id === filter.key) && <option value={filter.key}>{t.removedKey}</option>}
        </Select>
      </div>
      <div className="sm:w-32">
        <Select label={t.method} hideLabel value={filter.method} onChange={(event) => onChange({ method: event.target.value })}>
          <option value="">{t.anyMethod}</option>
          {METHODS.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </Select>
      </div>
      {children}
    </div>
  );
}
