import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { asked } from '#/api/reach';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Section } from '#/ui/page';
import { Status } from '#/ui/status';
import { t } from './texts';

/** Says what would hold back a mail to an address. */
export function Preview() {
  const [found, setFound] = useState<Schemas['SuppressionPreview']>();
  const ask = async (data: FormData) => {
    setFound(undefined);
    setFound(await call(api.POST('/suppressions/preview', { body: { address: String(data.get('address')).trim() }, fetch: asked })));
  };
  return (
    <Section title={t.preview} lead={t.previewHint}>
      <Form onSubmit={ask} className="flex flex-wrap items-end gap-2 space-y-0!">
        <div className="min-w-48 flex-1">
          <TextField name="address" type="email" label={t.email} autoComplete="off" required />
        </div>
        <SubmitButton variant="default">{t.preview}</SubmitButton>
      </Form>
      <p role="status" className="mt-2">
        {found &&
          (found.suppressed ? (
            <Status tone="bad">{t.heldBy(found.match?.name ?? '')}</Status>
          ) : (
            <Status tone="good">{t.free}</Status>
          ))}
      </p>
    </Section>
  );
}
