import { ArrowDown, ArrowUp } from 'lucide';
import { percent } from '#/i18n/format';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { t } from './texts';

/** By how much a value is more or less than before. Good and bad have a colour, an arrow and words. */
export function Change({ share, isBad = false }: { share: number | undefined; isBad?: boolean }) {
  if (share === undefined) return null;
  const text = percent(Math.abs(share));
  const same = Math.abs(share) < 0.0005;
  const good = share > 0 !== isBad;
  return (
    <span
      title={same ? t.same : share > 0 ? t.more(text) : t.less(text)}
      className={classes('tabular inline-flex items-center gap-0.5 text-meta font-medium', same ? 'text-muted' : good ? 'text-good' : 'text-bad')}
    >
      {!same && <Icon of={share > 0 ? ArrowUp : ArrowDown} size={12} />}
      <span aria-hidden>{text}</span>
      <span className="sr-only">{same ? t.same : share > 0 ? t.more(text) : t.less(text)}</span>
    </span>
  );
}
