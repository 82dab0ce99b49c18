import { MoreHorizontal, Send } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import type { Writing } from '#/editor/writing';
import { go } from '#/router';
import { dropGuards } from '#/router/navigate';
import { t as editor } from '#/editor/texts';
import { Button, IconButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { done, failed } from '#/ui/toast';
import { DeleteCampaign } from './DeleteCampaign';
import { isOpen, type Part } from './parts';
import { type Campaign, duplicate, reload } from './queries';
import { t } from './texts';

/** What can be done with a campaign. While another part is open, saving what was written is not the main thing. */
export function Actions({ campaign, writing, part, onTest }: {
  campaign: Campaign;
  writing: Writing;
  part: Part;
  onTest: () => void;
}) {
  const [deleting, setDeleting] = useState(false);
  const { isDirty, isSaving, save, adopt } = writing;
  const canChange = isOpen(campaign.status);
  const isWriting = part === 'content';
  const copy = async () => {
    try {
      const { id } = await duplicate(campaign.id);
      done(t.duplicated);
      go(`/campaigns/${id}`);
    } catch (error) {
      failed(error);
    }
  };
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t.more}>
            <Icon of={MoreHorizontal} size={16} />
          </IconButton>
        }
        entries={[
          { text: t.duplicate, onSelect: () => void copy() },
          ...(canChange ? [{ text: t.discard, disabled: !isDirty, onSelect: () => adopt(campaign) }] : []),
          'line',
          { text: t.remove, danger: true, disabled: !canRemove(campaign), onSelect: () => setDeleting(true) },
        ]}
      />
      <Button onClick={onTest}>
        <Icon of={Send} size={14} />
        {t.test}
      </Button>
      <Course campaign={campaign} />
      {canChange && (isWriting || isDirty) && (
        <Button
          variant={isWriting ? 'primary' : 'default'}
          busy={isSaving}
          disabled={!isDirty}
          title={editor.saveKeys}
          onClick={() => void save()}
        >
          {isWriting ? t.save : t.saveMail}
        </Button>
      )}
      {deleting && (
        <DeleteCampaign
          campaign={campaign}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            dropGuards();
            go('/campaigns', { replace: true });
          }}
        />
      )}
    </>
  );
}

/** Whether the service lets a campaign be deleted. */
export function canRemove({ status, finishedAt }: Pick<Campaign, 'status' | 'finishedAt'>): boolean {
  return status === 'DRAFT' || status === 'SENT' || (status === 'CANCELLED' && Boolean(finishedAt));
}

/** Pauses, resumes and cancels a campaign on its way, and takes back the time of one that is scheduled. */
function Course({ campaign: one }: { campaign: Campaign }) {
  const [cancelling, setCancelling] = useState(false);
  const [busy, setBusy] = useState(false);
  const act = async (what: 'pause' | 'resume' | 'cancel', text: string) => {
    const params = { path: { id: one.id } };
    if (what === 'pause') await call(api.POST('/campaigns/{id}/pause', { params }));
    else if (what === 'resume') await call(api.POST('/campaigns/{id}/resume', { params }));
    else await call(api.POST('/campaigns/{id}/cancel', { params }));
    await reload(one.id);
    done(text);
  };
  const now = (what: 'pause' | 'resume' | 'cancel', text: string) => {
    setBusy(true);
    void act(what, text)
      .catch(failed)
      .finally(() => setBusy(false));
  };
  if (one.status === 'SCHEDULED') {
    return (
      <Button busy={busy} onClick={() => now('cancel', t.unscheduled)}>
        {t.unschedule}
      </Button>
    );
  }
  if (one.status !== 'SENDING') return null;
  return (
    <>
      {one.pausedAt ? (
        <Button variant="primary" busy={busy} onClick={() => now('resume', t.resumed)}>
          {t.resume}
        </Button>
      ) : (
        <Button busy={busy} onClick={() => now('pause', t.pausedToast)}>
          {t.pause}
        </Button>
      )}
      <Button onClick={() => setCancelling(true)}>{t.cancel}</Button>
      <Confirm
        open={cancelling}
        onClose={() => setCancelling(false)}
        title={t.cancelTitle}
        action={t.cancelAction}
        onConfirm={() => act('cancel', t.cancelled)}
      >
        <p>{t.cancelText}</p>
      </Confirm>
    </>
  );
}
