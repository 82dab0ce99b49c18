import { useQuery } from '@tanstack/react-query';
import { AdminNote } from '#/features/project/AdminNote';
import { useIsAdmin, useProject } from '#/features/project/open';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { NamedKeys } from './NamedKeys';
import { OwnPair } from './OwnPair';
import { keys } from './queries';
import { WebhookSecret } from './WebhookSecret';

/** What programs prove themselves with: the project's own pair of keys, further secret keys, and the webhook secret. */
export default function KeysTab() {
  const project = useProject();
  const isAdmin = useIsAdmin();
  const { data, error, refetch } = useQuery(keys(project.id));
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={8} />;
  const mayManage = isAdmin && !project.disabled;
  return (
    <>
      <AdminNote />
      <NamedKeys keys={data.filter((key) => key.name)} mayManage={mayManage} />
      <OwnPair keys={data.filter((key) => !key.name)} mayManage={mayManage} />
      {isAdmin && <WebhookSecret mayManage={mayManage} />}
    </>
  );
}
