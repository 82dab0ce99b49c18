import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { useMembership } from '#/features/project/open';
import { projects } from '#/features/project/queries';
import { Button } from '#/ui/button';
import { Banner } from '#/ui/status';
import { done, failed } from '#/ui/toast';
import { type Member, reloadMembers } from './queries';
import { t } from './texts';

/** What waits for the agreement of who is signed in: the project that is offered to them, or their own membership. */
export function OwnMembership({ members }: { members: readonly Member[] }) {
  const { user, project } = useMembership();
  const own = members.find((member) => member.userId === user.id);
  if (!own || project.disabled) return null;
  const take = async (role: Member['role'], text: string) => {
    try {
      const params = { path: { id: project.id, userId: user.id } };
      await call(api.PATCH('/projects/{id}/members/{userId}', { params, body: { role } }));
      await Promise.all([reloadMembers(), queries.invalidateQueries({ queryKey: projects.queryKey })]);
      done(text);
    } catch (error) {
      failed(error);
    }
  };
  if (own.ownershipOffered) {
    return (
      <Banner
        tone="accent"
        action={
          <Button variant="primary" onClick={() => void take('OWNER', t.nowOwner)}>
            {t.takeOver}
          </Button>
        }
      >
        <p className="font-medium">{t.offeredToYou}</p>
        <p>{t.offeredToYouText}</p>
      </Banner>
    );
  }
  // others see the name only of who agreed; whoever has no name has nothing to agree to here
  if (own.name || !user.name) return null;
  return (
    <Banner tone="muted" action={<Button onClick={() => void take(own.role, t.agreed)}>{t.agree}</Button>}>
      {t.addedUnasked}
    </Banner>
  );
}
