import { Upcoming } from '#/features/activity/Upcoming';
import { Checklist } from '#/features/onboarding/Checklist';
import { Page } from '#/ui/page';
import { AttentionList } from './AttentionList';
import { LastDays } from './LastDays';
import { Recent } from './Recent';
import { t } from './texts';

/** The start page: what needs a person, what is left to set up, and then what happened. */
export default function HomePage() {
  return (
    <Page title={t.title}>
      <AttentionList />
      <Checklist />
      <LastDays />
      <Recent />
      <Upcoming />
    </Page>
  );
}
