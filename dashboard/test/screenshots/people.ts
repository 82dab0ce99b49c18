/** Somebody in the pictures. */
export interface Somebody {
  email: string;
  data: { firstName: string; lastName: string; plan: string; city: string; kind: string };
}

const FIRST = [
  'Mara', 'Jonas', 'Elif', 'Tom', 'Ines', 'Noah', 'Katrin', 'Luca', 'Hanna', 'Piotr', 'Sofia', 'Emil', 'Nadia', 'Felix',
  'Greta', 'Oscar', 'Leonie', 'David', 'Amira', 'Henrik', 'Clara', 'Mateo', 'Ronja', 'Anton',
];
const LAST = [
  'Lindqvist', 'Becker', 'Aydin', 'Hartley', 'Moreau', 'Sørensen', 'Vogel', 'Rossi', 'Nowak', 'Keller', 'Almeida', 'Berg',
  'Hansen', 'Weiss', 'Novák', 'Janssen', 'Costa', 'Richter', 'Haddad', 'Lehmann',
];
/** Where people have their mail; the first ones have the most. */
const HOSTS = [
  'postbox.example', 'postbox.example', 'postbox.example', 'inbox.example', 'inbox.example', 'mailhaus.example',
  'mailhaus.example', 'fastpost.example', 'atelier-nord.example', 'parkpilates.example', 'lumen-studio.example',
];
const PLANS = ['free', 'free', 'studio', 'studio', 'free', 'business'];
const CITIES = ['Berlin', 'Hamburg', 'Copenhagen', 'Vienna', 'Zurich', 'Utrecht', 'Lyon', 'Leipzig'];
const KINDS = ['yoga', 'pilates', 'pottery', 'dance', 'music', 'climbing'];

const plain = (name: string) => name.toLowerCase().replaceAll('ø', 'o').normalize('NFD').replaceAll(/[^a-z]/g, '');
const pick = <T>(list: readonly T[], at: number, otherwise: T): T => list[at % list.length] ?? otherwise;

/** A number between 0 and 1 that follows from two others, and looks as if it followed from nothing. */
export function chance(a: number, b = 0): number {
  let mixed = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 7, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}

/** One of 480 people: who they are follows from their number. */
export function somebody(number: number): Somebody {
  const firstName = pick(FIRST, number * 7 + Math.floor(number / 24), 'Ada');
  const lastName = pick(LAST, number * 3 + Math.floor(number / 20), 'Berg');
  const host = pick(HOSTS, Math.floor(chance(number, 1) * HOSTS.length), 'postbox.example');
  return {
    email: `${plain(firstName)}.${plain(lastName)}@${host}`,
    data: {
      firstName,
      lastName,
      plan: pick(PLANS, Math.floor(chance(number, 2) * PLANS.length), 'free'),
      city: pick(CITIES, Math.floor(chance(number, 3) * CITIES.length), 'Berlin'),
      kind: pick(KINDS, Math.floor(chance(number, 4) * KINDS.length), 'yoga'),
    },
  };
}
