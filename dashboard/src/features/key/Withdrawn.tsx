import { t } from './texts';

/** The invitations that went with a key. */
export function Withdrawn({ addresses }: { addresses: readonly string[] }) {
  return addresses.length > 0 ? <p className="break-words">{t.withdrawn(addresses.join(', '))}</p> : null;
}
