import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Form, SubmitButton, textOf } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { DetailsFields } from './DetailsFields';
import type { Segment } from './queries';
import { t } from './texts';

/** The name of a segment, what it tracks, and its end. */
export function SettingsTab({ segment, onDirty, onGone }: { segment: Segment; onDirty: (isDirty: boolean) => void; onGone: () => void }) {
  const [asks, setAsks] = useState(false);
  const isDynamic = segment.type === 'DYNAMIC';
  const path = { id: segment.id };
  const save = async (data: FormData) => {
    const body = {
      name: textOf(data, 'name') ?? '',
      description: textOf(data, 'description') ?? null,
      ...(isDynamic ? { trackMembership: data.get('trackMembership') === 'on' } : {}),
    };
    await call(api.PATCH('/segments/{id}', { params: { path }, body }));
    // what is read again is what was saved
    onDirty(false);
    await queries.invalidateQueries({ queryKey: projectKey('segments') });
    done(t.saved);
  };
  const remove = async () => {
    await call(api.DELETE('/segments/{id}', { params: { path } }));
    queries.removeQueries({ queryKey: projectKey('segments', 'one', segment.id) });
    onGone();
    await queries.invalidateQueries({ queryKey: projectKey('segments') });
    done(t.gone(segment.name));
  };
  return (
    <div className="space-y-6">
      <Section title={t.tabs.settings}>
        <Form onSubmit={save} onChange={() => onDirty(true)}>
          <DetailsFields
            name={segment.name}
            description={segment.description ?? ''}
            tracked={segment.trackMembership}
            mayTrack={isDynamic}
          />
          <div className="flex justify-end">
            <SubmitButton>{t.save}</SubmitButton>
          </div>
        </Form>
      </Section>
      <Section title={t.remove} danger>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="text-muted">{t.removeLead}</p>
          <Button variant="danger" onClick={() => setAsks(true)}>
            {t.remove}
          </Button>
        </div>
      </Section>
      <Confirm open={asks} onClose={() => setAsks(false)} title={t.removeTitle(segment.name)} action={t.remove} onConfirm={remove}>
        <p>{t.removeText}</p>
      </Confirm>
    </div>
  );
}
