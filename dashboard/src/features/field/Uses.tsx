import type { Schemas } from '#/api/client';
import { TextLink } from '#/ui/button';
import { t } from './texts';

type Used = Pick<Schemas['FieldUsage'], 'usedInSegments' | 'usedInCampaigns' | 'usedInWorkflows'>;

/** The segments, campaigns and workflows that refer to something, as links. */
export function Uses({ of }: { of: Used }) {
  const kinds = [
    [t.segments, '/segments', of.usedInSegments],
    [t.campaigns, '/campaigns', of.usedInCampaigns],
    [t.workflows, '/workflows', of.usedInWorkflows],
  ] as const;
  const used = kinds.filter(([, , references]) => references.length > 0);
  if (used.length === 0) return <p>{t.unused}</p>;
  return (
    <div className="space-y-1">
      <p>{t.usedIn}</p>
      {used.map(([name, path, references]) => (
        <p key={path} className="break-words">
          {name}:{' '}
          {references.map((one, index) => (
            <span key={one.id}>
              {index > 0 && ', '}
              <TextLink to={`${path}/${one.id}`}>{one.name}</TextLink>
            </span>
          ))}
        </p>
      ))}
    </div>
  );
}
