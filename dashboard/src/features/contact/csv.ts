import { csv } from '#/ui/csv';
import type { Contact } from './queries';

/** Contacts as CSV, for people to open: address, subscription, times, and a column for each field that one of them has. */
export function csvOf(contacts: readonly Contact[]): string {
  const fields = [...new Set(contacts.flatMap((one) => Object.keys(one.data)))].toSorted();
  const rows = contacts.map((one) => {
    const data = one.data as Record<string, unknown>;
    return [one.email, one.subscribed, one.createdAt, one.updatedAt, ...fields.map((field) => data[field])];
  });
  return csv([['email', 'subscribed', 'createdAt', 'updatedAt', ...fields], ...rows]);
}
