import type { ActivityType } from './queries';

/** The areas of the feed, and the types of each. Types that are newer than this page stand in none. */
export const AREAS = {
  mail: [
    'email.sent',
    'email.delivered',
    'email.opened',
    'email.clicked',
    'email.bounced',
    'email.complaint',
    'email.unsubscribed',
    'email.received',
  ],
  contacts: ['contact.created', 'contact.subscribed', 'contact.unsubscribed'],
  events: ['event.triggered'],
  campaigns: ['campaign.sent'],
  workflows: ['workflow.started', 'workflow.completed'],
  segments: ['segment.entered', 'segment.exited'],
} as const satisfies Record<string, readonly ActivityType[]>;

/** An area. */
export type Area = keyof typeof AREAS;
/** The areas in the order in which they are shown. */
export const AREA_NAMES = Object.keys(AREAS) as Area[];

const ALL: readonly ActivityType[] = Object.values(AREAS).flat();

/** The types in an address. What is none is left out. */
export function typesIn(text: string): ReadonlySet<ActivityType> {
  const given = text.split(',');
  return new Set(ALL.filter((type) => given.includes(type)));
}

/** The text for types in an address. All of them are the same as none. */
export function textOfTypes(types: ReadonlySet<ActivityType>): string {
  return types.size === ALL.length ? '' : ALL.filter((type) => types.has(type)).join(',');
}

/** Whether all, some or none of the types of an area are chosen. */
export function chosenOf(area: Area, types: ReadonlySet<ActivityType>): 'all' | 'some' | 'none' {
  const of = AREAS[area].filter((type) => types.has(type)).length;
  if (of === 0) return 'none';
  return of === AREAS[area].length ? 'all' : 'some';
}

/** The types with those of an area all chosen, or none of them when all were. */
export function toggleArea(area: Area, types: ReadonlySet<ActivityType>): ReadonlySet<ActivityType> {
  const next = new Set(types);
  const all = chosenOf(area, types) === 'all';
  for (const type of AREAS[area]) {
    if (all) next.delete(type);
    else next.add(type);
  }
  return next;
}
