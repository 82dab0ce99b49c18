import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Confirm } from '#/ui/dialog';
import { done } from '#/ui/toast';
import { type Listed } from './queries';
import { t } from './texts';

/** Asks before a campaign is deleted. */
export function DeleteCampaign({ campaign, onClose, onDeleted }: {
  campaign: Pick<Listed, 'id' | 'name'>;
  onClose: () => void;
  onDeleted?: () => void;
}) {
  return (
    <Confirm
      open
      onClose={onClose}
      title={t.removeTitle}
      action={t.remove}
      onConfirm={async () => {
        await call(api.DELETE('/campaigns/{id}', { params: { path: { id: campaign.id } } }));
        done(t.removed);
        onDeleted?.();
        await queries.invalidateQueries({ queryKey: projectKey('campaigns') });
      }}
    >
      <p className="font-medium break-words text-ink">{campaign.name}</p>
      <p>{t.removeText}</p>
    </Confirm>
  );
}
