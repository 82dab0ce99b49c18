import { useState } from 'react';
import { api, call } from '#/api/client';
import { now } from '#/i18n/clock';
import { Button } from '#/ui/button';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { type Campaign, reload } from './queries';
import { localInput, shortcuts } from './schedule';
import { t } from './texts';

/** The time zone of the browser. */
const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Sets when a campaign leaves by itself. */
export function Schedule({ campaign, disabled }: { campaign: Campaign; disabled: boolean }) {
  const planned = campaign.scheduledFor ? localInput(new Date(campaign.scheduledFor)) : '';
  const [at, setAt] = useState(planned);
  const [choices] = useState(() => shortcuts(new Date(now())));
  const schedule = async () => {
    const body = { scheduledFor: new Date(at).toISOString() };
    await call(api.POST('/campaigns/{id}/send', { params: { path: { id: campaign.id } }, body }));
    await reload(campaign.id);
    done(t.scheduled);
  };
  return (
    <Form onSubmit={schedule} className="space-y-3!">
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          name="scheduledFor"
          type="datetime-local"
          label={t.scheduleAt}
          value={at}
          onChange={(event) => setAt(event.target.value)}
          required
        />
        <SubmitButton variant="default" disabled={disabled || at === '' || at === planned}>
          {campaign.scheduledFor ? t.reschedule : t.schedule}
        </SubmitButton>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {choices.map(({ name, at: time }) => (
          <Button key={name} size="small" onClick={() => setAt(localInput(time))}>
            {t[name]}
          </Button>
        ))}
        <span className="text-meta text-muted">{t.scheduleHint(ZONE)}</span>
      </div>
    </Form>
  );
}
