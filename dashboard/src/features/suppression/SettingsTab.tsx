import { Plus, Upload, Download } from 'lucide';
import { useDeferredValue, useState } from 'react';
import { api, call, download } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { text, useSearchState } from '#/router';
import { Button } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { CursorList } from '#/ui/cursor-list';
import { Empty } from '#/ui/empty';
import { Select, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Section } from '#/ui/page';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { AddAddress } from './AddAddress';
import { Import } from './Import';
import { Preview } from './Preview';
import { addresses, type Reason, type SuppressedAddress } from './queries';
import { Rules } from './Rules';
import { t } from './texts';

const SEARCH = { q: text, reason: text };
const REASONS = Object.keys(t.reasons) as Reason[];

/** Who gets no mail: the list of addresses, and the rules. */
export default function SuppressionsTab() {
  const [{ q, reason }, setSearch] = useSearchState(SEARCH);
  const search = useDeferredValue(q);
  const [open, setOpen] = useState<'add' | 'import'>();
  const [removing, setRemoving] = useState<SuppressedAddress>();
  return (
    <div className="space-y-6">
      <Section
        title={t.addresses}
        lead={t.lead}
        actions={
          <>
            <Button
              size="small"
              onClick={() => void download('/suppressions/addresses/export', t.exportName).catch(failed)}
            >
              <Icon of={Download} size={14} />
              {t.export}
            </Button>
            <Button size="small" onClick={() => setOpen('import')}>
              <Icon of={Upload} size={14} />
              {t.import}
            </Button>
            <Button size="small" variant="primary" onClick={() => setOpen('add')}>
              <Icon of={Plus} size={14} />
              {t.add}
            </Button>
          </>
        }
      >
        <div className="mb-3 grid gap-2 sm:grid-cols-[1fr_14rem]">
          <TextField
            data-search
            type="search"
            label={t.search}
            hideLabel
            placeholder={t.search}
            value={q}
            onChange={(event) => setSearch({ q: event.target.value })}
          />
          <Select label={t.reason} hideLabel value={reason} onChange={(event) => setSearch({ reason: event.target.value })}>
            <option value="">{t.anyReason}</option>
            {REASONS.map((one) => (
              <option key={one} value={one}>
                {t.reasons[one]}
              </option>
            ))}
          </Select>
        </div>
        <div className="flex h-96 flex-col">
          <CursorList
            label={t.addresses}
            source={addresses(search, reason)}
            rowKey={(row) => row.email}
            rowLabel={(row) => row.email}
            onOpen={setRemoving}
            columns={[
              { name: t.email, width: 'minmax(0,2fr)', cell: (row) => row.email },
              { name: t.reason, width: 'minmax(0,1fr)', cell: (row) => t.reasons[row.reason] },
              { name: t.since, width: '7rem', wideOnly: true, cell: (row) => <Time at={row.createdAt} /> },
              {
                name: t.until,
                width: '7rem',
                wideOnly: true,
                cell: (row) => (row.expiresAt ? <Time at={row.expiresAt} /> : t.always),
              },
            ]}
            empty={search || reason ? <Empty title={t.none} /> : <Empty title={t.empty}>{t.emptyText}</Empty>}
          />
        </div>
      </Section>
      <Rules />
      <Preview />
      {open === 'add' && <AddAddress onClose={() => setOpen(undefined)} />}
      {open === 'import' && <Import onClose={() => setOpen(undefined)} />}
      {removing && (
        <Confirm
          open
          onClose={() => setRemoving(undefined)}
          title={t.removeTitle}
          action={t.remove}
          onConfirm={async () => {
            await call(
              api.DELETE('/suppressions/addresses/{email}', { params: { path: { email: removing.email } } }),
            );
            await queries.invalidateQueries({ queryKey: projectKey('suppressions') });
            done(t.removed(removing.email));
          }}
        >
          <p className="font-mono break-all text-ink">{removing.email}</p>
          <p>{t.removeText}</p>
        </Confirm>
      )}
    </div>
  );
}
