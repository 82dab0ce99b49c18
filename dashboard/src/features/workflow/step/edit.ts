import type { Config } from '../model/graph';

/** What the fields of a step need: its configuration, how to change it, and what is wrong at a path within it. */
export interface Edit {
  readonly config: Config;
  readonly set: (change: Config) => void;
  readonly fault: (path: string) => string | undefined;
  /** The event that starts the workflow, whose data conditions can look at; empty when there is none. */
  readonly eventName: string;
}

/** A configuration without members that have no value. */
export function tidy(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}
