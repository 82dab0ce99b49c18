import { useQuery } from '@tanstack/react-query';
import { me } from '#/features/user/queries';
import { Page } from '#/ui/page';
import { Skeleton } from '#/ui/skeleton';
import { DeleteAccount } from './DeleteAccount';
import { Identity } from './Identity';
import { Password } from './Password';
import { Preferences } from './Preferences';
import { SecondFactor } from './SecondFactor';
import { Sessions } from './Sessions';
import { t } from './texts';

/** The account of who is signed in: who they are, how they sign in, where, and how the dashboard looks to them. */
export default function Account() {
  const { data: user } = useQuery(me);
  return (
    <Page title={t.title}>
      {user ? (
        <>
          <Identity user={user} />
          <Password user={user} />
          <SecondFactor user={user} />
          <Sessions />
          <Preferences />
          <DeleteAccount user={user} />
        </>
      ) : (
        <Skeleton rows={8} />
      )}
    </Page>
  );
}
