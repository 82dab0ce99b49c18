import { type ReactNode, useState } from 'react';
import { useGuard } from '#/router';
import { Button } from '#/ui/button';
import { Form, SubmitButton } from '#/ui/form';
import { Section } from '#/ui/page';
import { done } from '#/ui/toast';
import { t } from './texts';

/**
 * A section of settings, saved by itself. The page is not left without a question while something in it is not saved.
 * With `locked`, what is set can be read only.
 */
export function SettingsForm({
  title,
  lead,
  locked,
  onSave,
  onDiscard,
  children,
}: {
  title: string;
  lead?: ReactNode;
  locked: boolean;
  onSave: (data: FormData) => Promise<unknown>;
  /** Sets back what the section keeps outside of its fields. */
  onDiscard?: () => void;
  children: ReactNode;
}) {
  const [dirty, setDirty] = useState(false);
  // another form for each time that changes are discarded, so that every field shows what is saved
  const [round, setRound] = useState(0);
  useGuard(dirty, t.unsaved(title));
  const save = async (data: FormData) => {
    await onSave(data);
    setDirty(false);
    done(t.saved(title));
  };
  return (
    <Section title={title} lead={lead}>
      <Form key={round} aria-label={title} onSubmit={save} onChange={() => setDirty(true)}>
        <fieldset disabled={locked} className="min-w-0 space-y-4">
          {children}
        </fieldset>
        {!locked && (
          <div className="flex items-center gap-2">
            <SubmitButton variant={dirty ? 'primary' : 'default'} disabled={!dirty}>
              {t.save}
            </SubmitButton>
            {dirty && (
              <Button
                variant="ghost"
                onClick={() => {
                  setDirty(false);
                  setRound(round + 1);
                  onDiscard?.();
                }}
              >
                {t.discard}
              </Button>
            )}
          </div>
        )}
      </Form>
    </Section>
  );
}
