import { useState } from 'react';
import { Checkbox, TextArea, TextField } from '#/ui/form';
import { slugOf } from './slug';
import { t } from './texts';

/** Name, description, and for dynamic segments whether joining and leaving are tracked. */
export function DetailsFields({ name = '', description = '', tracked = false, mayTrack, autoFocus = false }: {
  name?: string;
  description?: string;
  tracked?: boolean;
  mayTrack: boolean;
  autoFocus?: boolean;
}) {
  const [typed, setTyped] = useState(name);
  return (
    <>
      <TextField
        name="name"
        label={t.name}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        required
        maxLength={100}
        autoFocus={autoFocus}
        autoComplete="off"
      />
      <TextArea name="description" label={`${t.description} (${t.optional})`} defaultValue={description} rows={2} maxLength={500} />
      {mayTrack && <Checkbox name="trackMembership" label={t.track} hint={t.trackHint(slugOf(typed) || 'name')} defaultChecked={tracked} />}
    </>
  );
}
