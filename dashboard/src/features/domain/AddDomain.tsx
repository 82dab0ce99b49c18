import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { domains } from './queries';
import { inOurWords } from './refusal';
import { t } from './texts';

/** Asks for a domain and adds it to the project. */
export function AddDomain({ onClose }: { onClose: () => void }) {
  const add = async (data: FormData) => {
    try {
      await call(api.POST('/domains', { body: { domain: String(data.get('domain')).trim() } }));
    } catch (error) {
      throw inOurWords(error);
    }
    await queries.invalidateQueries({ queryKey: domains().queryKey });
    done(t.added);
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t.add}>
      <Form onSubmit={add}>
        <TextField
          name="domain"
          label={t.domain}
          hint={t.domainHint}
          placeholder="example.com"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          required
        />
        <SubmitButton>{t.add}</SubmitButton>
      </Form>
    </Dialog>
  );
}
