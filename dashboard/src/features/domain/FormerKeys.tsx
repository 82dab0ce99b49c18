import { now } from '#/i18n/clock';
import { day } from '#/i18n/format';
import { Copyable } from '#/ui/copy';
import type { Domain } from './queries';
import { t } from './texts';

/** The records of keys that were replaced, and until when they should stay. */
export function FormerKeys({ keys }: { keys: Domain['formerKeys'] }) {
  if (keys.length === 0) return null;
  return (
    <div className="mt-4 space-y-2">
      <h3 className="font-medium">{t.formerKeys}</h3>
      <p className="max-w-prose text-muted">{t.formerKeysText}</p>
      <ul className="space-y-2">
        {keys.map(({ name, removeAfter }) => (
          <li key={name}>
            <Copyable text={name} what={`${t.formerKeys}: ${t.name}`} />
            <p className="text-meta text-muted">
              {!removeAfter || Date.parse(removeAfter) <= now() ? t.removable : t.removeAfter(day(removeAfter))}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
