import { api, call } from '#/api/client';
import { useProject } from '#/features/project/open';
import { Confirm } from '#/ui/dialog';
import { textOf, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { type Intervention, reloadWaiting } from './queries';
import type { Wish } from './scope';
import { t } from './texts';

/** The most characters of a reason. */
const REASON = 500;

/** Asks before mail is paused, goes on or is given up, and for the reason. */
export function Wished({ wish, onClose }: { wish: Wish<Intervention>; onClose: () => void }) {
  const project = useProject();
  const { what, scope } = wish;
  const mail = t.mailOf(scope);
  const act = async (data: FormData) => {
    if (what === 'end') {
      await call(api.DELETE('/delivery/interventions/{id}', { params: { path: { id: wish.ends.id } } }));
    } else {
      const reason = textOf(data, 'reason');
      const body = { kind: what === 'pause' ? ('PAUSE' as const) : ('EXPIRE' as const), ...scope, ...(reason ? { reason } : {}) };
      await call(api.POST('/delivery/interventions', { body }));
    }
    await reloadWaiting();
    done({ pause: t.paused, expire: t.expired, end: t.ended }[what](mail));
  };
  const isPause = what === 'end' && wish.ends.kind === 'PAUSE';
  const words = {
    pause: { title: t.pauseTitle(mail), text: t.pauseText, action: t.pause },
    expire: { title: t.expireTitle(mail), text: t.expireText, action: t.expire },
    end: { title: isPause ? t.resumeTitle(mail) : t.endTitle(mail), text: isPause ? t.resumeText : t.endText, action: isPause ? t.resume : t.end },
  }[what];
  return (
    <Confirm
      open
      onClose={onClose}
      title={words.title}
      action={words.action}
      danger={what === 'expire'}
      typed={what === 'expire' ? (scope.domain ?? scope.site ?? project.name) : undefined}
      fields={what !== 'end' && <TextField name="reason" label={t.reason} hint={t.reasonHint} maxLength={REASON} autoComplete="off" />}
      onConfirm={act}
    >
      <p>{words.text}</p>
    </Confirm>
  );
}
