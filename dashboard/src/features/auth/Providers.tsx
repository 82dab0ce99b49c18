import { useQuery } from '@tanstack/react-query';
import { serviceUrl } from '#/api/base';
import { config } from '#/features/user/queries';
import { AnchorButton } from '#/ui/button';
import { Tag } from '#/ui/status';
import { t } from './texts';

const LAST = 'mailwright.provider';

/** Buttons for the providers that this instance offers; nothing where it offers none. */
export function Providers() {
  const { data } = useQuery(config);
  const offered = data?.features.authProviders;
  if (!offered?.github && !offered?.google) return null;
  const last = localStorage.getItem(LAST);
  const button = (name: 'github' | 'google', text: string) => (
    <AnchorButton
      href={serviceUrl(`/oauth/${name}/outbound`)}
      onClick={() => localStorage.setItem(LAST, name)}
      className="w-full"
    >
      {text}
      {last === name && <Tag>{t.lastUsed}</Tag>}
    </AnchorButton>
  );
  return (
    <div className="space-y-2">
      {offered.github && button('github', t.github)}
      {offered.google && button('google', t.google)}
      <p className="pt-2 text-center text-meta text-muted">{t.or}</p>
    </div>
  );
}
