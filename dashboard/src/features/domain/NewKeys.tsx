import { useState } from 'react';
import { api, call } from '#/api/client';
import { Button } from '#/ui/button';
import { Confirm, Dialog } from '#/ui/dialog';
import { successors } from './keys';
import { type Domain, isUnproven, keep } from './queries';
import { Records } from './Records';
import { t } from './texts';

/** Makes new keys for a domain, once somebody has read what that means, and shows their records. */
export function NewKeys({ domain: { id, domain: name } }: { domain: Domain }) {
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<Domain>();
  const fresh = made ? successors(made.records) : [];
  return (
    <>
      <Button size="small" onClick={() => setAsking(true)}>
        {t.newKeys}
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.newKeysTitle(name)}
        action={t.newKeys}
        danger={false}
        onConfirm={async () => {
          const answer = await call(api.POST('/domains/{id}/rotate-keys', { params: { path: { id } } }));
          keep(answer);
          setMade(answer);
        }}
      >
        <ol className="list-decimal space-y-2 pl-5">
          {t.newKeysSteps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </Confirm>
      {made && (
        <Dialog open onClose={() => setMade(undefined)} title={t.newKeysMade(name)} description={t.newKeysMadeText} wide>
          <Records records={fresh} fresh={fresh} isUnproven={isUnproven(made)} />
        </Dialog>
      )}
    </>
  );
}
