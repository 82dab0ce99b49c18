import { href } from '#/router';
import { AnchorButton, Button } from '#/ui/button';
import { Banner } from '#/ui/status';
import { useNotices } from './notices';
import { t } from './texts';
import { reloadOnce } from './upgrade';

/** What is said above every page. The page below stays as it is, with what is not saved on it. */
export function NoticeBar() {
  const { signedOut, upgraded } = useNotices();
  return (
    <div role="status" className="pointer-events-none fixed inset-x-4 top-2 z-50 mx-auto max-w-2xl space-y-2">
      {signedOut && (
        <div className="pointer-events-auto shadow-pop">
          <Banner
            tone="warn"
            action={
              <AnchorButton href={href('/auth/login')} target="_blank" rel="noopener" size="small">
                {t.signIn}
              </AnchorButton>
            }
          >
            {t.signedOut}
          </Banner>
        </div>
      )}
      {upgraded && (
        <div className="pointer-events-auto shadow-pop">
          <Banner
            tone="warn"
            action={
              <Button size="small" onClick={reloadOnce}>
                {t.loadAnew}
              </Button>
            }
          >
            {t.upgraded}
          </Banner>
        </div>
      )}
    </div>
  );
}
