import { useQuery } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { Card } from '#/features/auth/Card';
import { rememberSecret } from '#/features/key/fresh';
import { signOut } from '#/features/user/session';
import { go } from '#/router';
import { PROJECT } from '#/router/address';
import { Button, LinkButton } from '#/ui/button';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { done } from '#/ui/toast';
import { projects } from './queries';
import { t } from './texts';

/** Creating a project. Who has none comes here by itself. */
export default function Create() {
  const { data: all } = useQuery(projects);
  const create = async (data: FormData) => {
    const project = await call(api.POST('/users/@me/projects', { body: { name: String(data.get('name')) } }));
    if (project.secret) rememberSecret(project.id, project.secret);
    await queries.invalidateQueries({ queryKey: projects.queryKey, refetchType: 'all' });
    done(t.created);
    go('/onboarding', { search: { [PROJECT]: project.id } });
  };
  return (
    <Card title={t.create} lead={t.createText}>
      <Form onSubmit={create}>
        <TextField name="name" label={t.name} placeholder={t.namePlaceholder} maxLength={100} autoFocus required />
        <SubmitButton className="w-full">{t.create}</SubmitButton>
      </Form>
      <p className="text-muted">{t.orInvited}</p>
      {all && all.length > 0 ? (
        <LinkButton to="/" variant="ghost" className="w-full">
          {t.back}
        </LinkButton>
      ) : (
        <>
          <LinkButton to="/account" variant="ghost" className="w-full">
            {t.account}
          </LinkButton>
          <Button variant="ghost" className="w-full" onClick={() => void signOut()}>
            {t.signOut}
          </Button>
        </>
      )}
    </Card>
  );
}
