import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide';
import { Icon } from '#/ui/icon';
import { type Scope, scopeName } from './queries';
import { t } from './texts';

/** What the entries are about, by its name, and a way to be shown others again. */
export function ScopeFilter({ scope, id, onRemove }: { scope: Scope; id: string; onRemove: () => void }) {
  const name = useQuery(scopeName(scope, id));
  const text = `${t.scopes[scope]}: ${name.data ?? (name.isPending ? '…' : id)}`;
  return (
    <button
      type="button"
      onClick={onRemove}
      aria-label={t.removeFilter(text)}
      className="inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-accent bg-accent-soft px-2.5 text-meta font-medium text-accent pointer-coarse:h-11"
    >
      <span className="truncate">{text}</span>
      <Icon of={X} size={12} />
    </button>
  );
}
