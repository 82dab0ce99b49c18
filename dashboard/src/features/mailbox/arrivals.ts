import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Schemas } from '#/api/client';
import { useLive } from '#/features/activity/live';
import { type Captured, mailbox, page } from './queries';

type Loaded = InfiniteData<Schemas['CursorPage_CapturedView'], string | undefined>;

/** How long after an arrival further ones are waited for before the mailbox is read, in milliseconds. */
const TOGETHER_MS = 150;
const TYPES = { types: 'email.sent' };

/** Puts mails on top of the list as they are captured. Returns those that arrived since the page was opened. */
export function useArrivals(): readonly Captured[] {
  const client = useQueryClient();
  const [arrived, setArrived] = useState<readonly Captured[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const read = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      page(undefined)
        .then((newest) => {
          const key = mailbox().queryKey;
          const loaded = client.getQueryData<Loaded>(key);
          const first = loaded?.pages[0];
          if (!loaded || !first) return;
          const known = new Set(loaded.pages.flatMap((each) => each.data.map((mail) => mail.id)));
          const fresh = newest.data.filter((mail) => !known.has(mail.id));
          if (fresh.length === 0) return;
          // between them and what is known may be more, so the list begins anew with them
          const isCut = newest.hasMore && fresh.length === newest.data.length;
          const top = { ...first, data: [...fresh, ...first.data], total: newest.total };
          client.setQueryData<Loaded>(
            key,
            isCut ? { pages: [newest], pageParams: [undefined] } : { ...loaded, pages: [top, ...loaded.pages.slice(1)] },
          );
          setArrived((before) => [...fresh, ...before]);
        })
        .catch(() => undefined);
    }, TOGETHER_MS);
  };
  useLive(TYPES, { entry: read, start: read });
  return arrived;
}
