import { RefreshCw } from 'lucide';
import { IconButton } from './button';
import { Icon } from './icon';
import { t } from './texts';

/** Reads a list anew. A list that goes on by cursor cannot take in by itself what is new at its beginning. */
export function Refresh({ onRefresh }: { onRefresh: () => void }) {
  return (
    <IconButton label={t.refresh} onClick={onRefresh}>
      <Icon of={RefreshCw} size={14} />
    </IconButton>
  );
}
