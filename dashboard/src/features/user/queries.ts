import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { ApiError } from '#/api/error';
import { isGuarded } from '#/router/navigate';

/** Who is signed in. */
export type User = Schemas['UserView'];

/**
 * Who is signed in; null when nobody is. It stays who was, and is an error, while something on the page is not saved: the
 * page stays then.
 */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }): Promise<User | null> => {
    try {
      return await call(api.GET('/users/@me', { signal }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401 && !isGuarded()) return null;
      throw error;
    }
  },
  staleTime: 60_000,
  // meanwhile somebody else may have signed in, in another tab
  refetchOnWindowFocus: 'always',
});

/** What the instance offers, for anybody. */
export const config = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => call(api.GET('/config', { signal })),
  staleTime: 300_000,
});

/** Whether the account has a second factor. */
export const secondFactor = queryOptions({
  queryKey: ['me', 'totp'],
  queryFn: ({ signal }) => call(api.GET('/users/@me/totp', { signal })),
});

/** Where the account is signed in. */
export const sessions = queryOptions({
  queryKey: ['me', 'sessions'],
  queryFn: ({ signal }) => call(api.GET('/users/@me/sessions', { signal })),
});
