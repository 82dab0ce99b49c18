import { Banner } from '#/ui/status';
import { useIsAdmin, useProject } from './open';
import { t } from './settings/texts';

/** Says why nothing can be changed here, where that is so. */
export function AdminNote() {
  const isAdmin = useIsAdmin();
  const { disabled } = useProject();
  if (!isAdmin) return <Banner tone="muted">{t.readOnly}</Banner>;
  return disabled ? <Banner tone="muted">{t.disabledNote}</Banner> : null;
}
