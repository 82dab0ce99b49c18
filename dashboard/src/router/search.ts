import { useCallback, useMemo } from 'react';
import { href, pathOf } from './address';
import { here, usePathname, useSearch } from './location';
import { rewrite } from './navigate';

/** How a value stands in an address. Reading takes whatever somebody typed there. */
export interface Codec<T> {
  read: (text: string | null) => T;
  write: (value: T) => string;
}

/** Any text; empty when it is absent. */
export const text: Codec<string> = { read: (given) => given ?? '', write: (value) => value };

/** Yes or no; no when it is absent. */
export const flag: Codec<boolean> = { read: (given) => given === '1' || given === 'true', write: (value) => (value ? '1' : '') };

/** A whole number from 1; `byDefault` when it is absent. */
export function whole(byDefault: number): Codec<number> {
  return {
    read: (given) => {
      const value = Number(given);
      return Number.isInteger(value) && value > 0 ? value : byDefault;
    },
    write: (value) => (value === byDefault ? '' : String(value)),
  };
}

/** One of these; the first when it is absent or another one. */
export function oneOf<const T extends string>(choices: readonly [T, ...T[]]): Codec<T> {
  return {
    read: (given) => choices.find((choice) => choice === given) ?? choices[0],
    write: (value) => (value === choices[0] ? '' : value),
  };
}

/** A value as JSON, such as a filter; undefined when it is absent or no JSON. `check` says whether it has its shape. */
export function json<T>(check: (value: unknown) => value is T): Codec<T | undefined> {
  return {
    read: (given) => {
      if (!given) return undefined;
      try {
        const value: unknown = JSON.parse(given);
        return check(value) ? value : undefined;
      } catch {
        return undefined;
      }
    },
    write: (value) => (value === undefined ? '' : JSON.stringify(value)),
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- a codec of any type
type Spec = Readonly<Record<string, Codec<any>>>;
type Values<S extends Spec> = { readonly [K in keyof S]: S[K] extends Codec<infer T> ? T : never };

/**
 * The state of a page that its address holds: `const [search, setSearch] = useSearchState(SPEC)`, where SPEC is a constant
 * such as `{ q: text, page: whole(1) }`. What the address holds besides stays.
 */
export function useSearchState<S extends Spec>(spec: S): [Values<S>, (change: Partial<Values<S>>) => void] {
  const search = useSearch();
  const path = pathOf(usePathname());
  const values = useMemo(() => {
    const params = new URLSearchParams(search);
    return Object.fromEntries(Object.entries(spec).map(([name, codec]) => [name, codec.read(params.get(name))])) as Values<S>;
  }, [search, spec]);
  const change = useCallback(
    (to: Partial<Values<S>>) => {
      const present = Object.fromEntries(new URLSearchParams(here().search));
      for (const [name, value] of Object.entries(to)) present[name] = spec[name]?.write(value) ?? '';
      rewrite(href(path, present));
    },
    [path, spec],
  );
  return [values, change];
}
