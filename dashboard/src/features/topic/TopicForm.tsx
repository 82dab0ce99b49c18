import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { Dialog } from '#/ui/dialog';
import { Checkbox, Form, Select, SubmitButton, textOf, TextArea, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { topics, type Topic } from './queries';
import { t } from './texts';

/** A topic to add or to change. */
export function TopicForm({ topic, onClose }: { topic: Topic | undefined; onClose: () => void }) {
  const save = async (data: FormData) => {
    const body = {
      name: String(data.get('name')).trim(),
      description: textOf(data, 'description') ?? null,
      visibility: data.get('visibility') === 'PRIVATE' ? ('PRIVATE' as const) : ('PUBLIC' as const),
      defaultSubscribed: data.get('defaultSubscribed') === 'on',
      doubleOptIn: data.get('doubleOptIn') === 'on',
    };
    if (topic) await call(api.PATCH('/topics/{id}', { params: { path: { id: topic.id } }, body }));
    else await call(api.POST('/topics', { body }));
    await queries.invalidateQueries({ queryKey: topics().queryKey });
    done(t.saved);
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={topic ? t.edit : t.add}>
      <Form onSubmit={save}>
        <TextField name="name" label={t.name} hint={t.nameHint} defaultValue={topic?.name} maxLength={100} autoFocus required />
        <TextArea name="description" label={t.description} defaultValue={topic?.description ?? ''} maxLength={500} />
        <Select name="visibility" label={t.visibility} defaultValue={topic?.visibility ?? 'PUBLIC'}>
          <option value="PUBLIC">{t.public}</option>
          <option value="PRIVATE">{t.private}</option>
        </Select>
        <Checkbox
          name="defaultSubscribed"
          label={t.defaultSubscribed}
          hint={topic ? t.defaultHint : undefined}
          defaultChecked={topic?.defaultSubscribed ?? true}
        />
        <Checkbox name="doubleOptIn" label={t.doubleOptIn} defaultChecked={topic?.doubleOptIn ?? false} />
        <SubmitButton>{t.save}</SubmitButton>
      </Form>
    </Dialog>
  );
}
