import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '#/api/client';
import { config } from '#/features/user/queries';
import { Once } from '#/ui/once';
import { Banner } from '#/ui/status';
import { t } from './texts';

/** What an invitation came to: a member, a mail on its way, or a link to pass on. */
export function Invited({ result }: { result: Schemas['InvitedView'] }) {
  const { data: instance } = useQuery(config);
  if (result.token && instance) {
    const link = `${instance.urls.api.replace(/\/$/, '')}/auth/invitation?token=${result.token}`;
    return (
      <Once title={t.link(result.email)} text={link} what={t.linkName}>
        {t.linkText}
      </Once>
    );
  }
  return (
    <div role="status">
      <Banner tone="good">{result.userId ? t.isMember(result.email) : t.isMailed(result.email)}</Banner>
    </div>
  );
}
