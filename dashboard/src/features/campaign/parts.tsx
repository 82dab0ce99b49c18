import type { ComponentProps, MouseEvent } from 'react';
import { oneOf, useSearchState } from '#/router';
import { TextLink } from '#/ui/button';
import { Tab } from '#/ui/tabs';
import { mayClosePart } from '#/ui/unsaved';
import type { Status } from './queries';

/** The parts of a campaign's page. */
export type Part = 'content' | 'settings' | 'audience' | 'versions' | 'review' | 'results' | 'ledger';

const PARTS = ['', 'content', 'settings', 'audience', 'versions', 'review', 'results', 'ledger'] as const;
const SEARCH = { tab: oneOf(PARTS) };
const OPEN: readonly Part[] = ['content', 'settings', 'audience', 'review', 'versions'];
const GONE: readonly Part[] = ['results', 'ledger', 'content', 'versions'];

/** Whether a campaign can still be changed. */
export function isOpen(status: Status): boolean {
  return status === 'DRAFT' || status === 'SCHEDULED';
}

/** The parts that there are while a campaign is written, and after it has left; and which is shown. */
export function useParts(status: Status): { parts: readonly Part[]; shown: Part } {
  const [{ tab }] = useSearchState(SEARCH);
  const parts = isOpen(status) ? OPEN : GONE;
  return { parts, shown: parts.find((name) => name === tab) ?? parts[0] ?? 'content' };
}

type Place = { id: string; part: Part };

/** Leads to another part. The page stays, and with it what is not saved of the mail; a form of this part would go. */
function usePart({ id, part }: Place) {
  const [{ tab }, setSearch] = useSearchState(SEARCH);
  return {
    to: `/campaigns/${id}`,
    search: { tab: part },
    onClick: (event: MouseEvent) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      if (part !== tab && mayClosePart()) setSearch({ tab: part });
    },
  };
}

/** The tab of a part. */
export function PartTab({ id, part, ...rest }: Place & Omit<ComponentProps<typeof Tab>, 'id' | 'to' | 'part'>) {
  return <Tab {...usePart({ id, part })} {...rest} />;
}

/** A link to a part. */
export function PartLink({ id, part, children }: Place & { children: React.ReactNode }) {
  return (
    <TextLink {...usePart({ id, part })} current={false}>
      {children}
    </TextLink>
  );
}
