import { useState } from 'react';
import { api, call, download, type Schemas } from '#/api/client';
import { asked } from '#/api/reach';
import { useIsAdmin, useProject } from '#/features/project/open';
import { minute } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Facts, Section } from '#/ui/page';
import { Status } from '#/ui/status';
import { failed } from '#/ui/toast';
import { ErasePerson } from './ErasePerson';
import { Receipt } from './Receipt';
import { t } from './texts';

const SEARCH = { receipt: text };

/** What the project has of an address. */
interface Found {
  email: string;
  contactId: string | undefined;
  standing: Schemas['ErasureStanding'] | undefined;
}

/** The rights of one person: everything that the project has about them, as a file, and erasing it. */
export function Erasure() {
  const { disabled } = useProject();
  const isAdmin = useIsAdmin();
  const [search, setSearch] = useSearchState(SEARCH);
  const [found, setFound] = useState<Found>();
  const [asking, setAsking] = useState(false);

  const look = async (email: string): Promise<void> => {
    const [page, standing] = await Promise.all([
      call(api.GET('/contacts', { params: { query: { search: email, limit: 100 } } })),
      // who erased somebody is the administrators' business
      isAdmin ? call(api.POST('/erasures/check', { body: { email }, fetch: asked })) : undefined,
    ]);
    const contact = page.data.find((one) => one.email.toLowerCase() === email.toLowerCase());
    setFound({ email, contactId: contact?.id, standing });
  };
  const save = async (id: string, email: string) => {
    try {
      await download(`/contacts/${id}/export`, `${email}.json`);
    } catch (error) {
      failed(error);
    }
  };
  return (
    <Section title={t.privacy} lead={t.privacyText}>
      <div className="space-y-4">
        <Form onSubmit={(data) => look(String(data.get('email')).trim())} aria-label={t.privacy}>
          <div className="grid max-w-lg grid-cols-[1fr_auto] items-start gap-3">
            <TextField name="email" type="email" label={t.email} autoComplete="off" placeholder="ada@example.org" required />
            <SubmitButton variant="default" className="mt-6 h-9!">
              {t.look}
            </SubmitButton>
          </div>
        </Form>
        <div aria-live="polite">
          {found && (
            <div className="space-y-3 rounded-card border border-line p-3">
              <Facts
                rows={[
                  [t.address, <span key="address" className="break-all">{found.email}</span>],
                  [t.contact, found.contactId ? t.isContact : t.noContact],
                  ...(found.standing
                    ? ([
                        [
                          t.standing,
                          <Status key="standing" tone={found.standing.isKeptOut ? 'warn' : 'muted'}>
                            {found.standing.isKeptOut ? t.keptOut : found.standing.isErased ? t.erased : t.neverErased}
                          </Status>,
                        ],
                      ] as const)
                    : []),
                  ...(found.standing && found.standing.erasures.length > 0
                    ? ([
                        [
                          t.receipts,
                          <span key="receipts" className="flex flex-wrap gap-1">
                            {found.standing.erasures.map((one) => (
                              <Button key={one.id} size="small" onClick={() => setSearch({ receipt: one.id })}>
                                {minute(one.requestedAt)}
                              </Button>
                            ))}
                          </span>,
                        ],
                      ] as const)
                    : []),
                ]}
              />
              <div className="flex flex-wrap gap-2">
                {found.contactId && (
                  <Button onClick={() => void save(found.contactId ?? '', found.email)}>{t.export}</Button>
                )}
                {isAdmin && !disabled && (
                  <Button variant="danger" onClick={() => setAsking(true)}>
                    {t.erase}
                  </Button>
                )}
              </div>
              {!isAdmin && <p className="text-meta text-muted">{t.adminsErase}</p>}
            </div>
          )}
        </div>
        {search.receipt !== '' && isAdmin && <Receipt id={search.receipt} onClose={() => setSearch({ receipt: '' })} />}
      </div>
      {found && (
        <ErasePerson
          open={asking}
          email={found.email}
          onClose={() => setAsking(false)}
          onBegun={(id) => {
            setFound(undefined);
            setSearch({ receipt: id });
          }}
        />
      )}
    </Section>
  );
}
