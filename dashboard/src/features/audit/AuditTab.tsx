import { useState } from 'react';
import { api, call, type Schemas } from '#/api/client';
import { projectKey } from '#/api/query';
import { useProject } from '#/features/project/open';
import { minute, moment } from '#/i18n/format';
import { CodeBlock } from '#/ui/copy';
import { CursorList, type ListColumn } from '#/ui/cursor-list';
import { Dialog } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Facts } from '#/ui/page';
import { actionName, actorName } from './names';
import { t } from './texts';

type Entry = Schemas['CursorPage_AuditView']['data'][number];

const PAGE_SIZE = 50;

/** What the entry changed, in one line. */
function summary(entry: Entry): string {
  const parts = Object.entries(entry.details as Record<string, unknown>).map(([name, value]) => {
    const said = typeof value === 'string' ? value : Array.isArray(value) ? value.join(' ') : JSON.stringify(value);
    return `${name}: ${said}`;
  });
  return parts.join(', ');
}

const COLUMNS: readonly ListColumn<Entry>[] = [
  { name: t.when, width: '9rem', cell: (entry) => <span className="tabular">{minute(entry.createdAt)}</span> },
  { name: t.what, width: 'minmax(9rem,1.2fr)', cell: (entry) => actionName(entry.action) },
  { name: t.who, width: 'minmax(8rem,1fr)', cell: (entry) => actorName(entry.actor), wideOnly: true },
  { name: t.target, width: 'minmax(7rem,1fr)', cell: (entry) => entry.target ?? '', wideOnly: true },
  {
    name: t.details,
    width: 'minmax(7rem,1.5fr)',
    cell: (entry) => <span className="text-muted">{summary(entry)}</span>,
    wideOnly: true,
  },
];

/** Who changed what, newest first. */
export default function AuditTab() {
  const { id } = useProject();
  const [open, setOpen] = useState<Entry>();
  return (
    <>
      <p className="max-w-prose text-muted">{t.lead}</p>
      <div className="flex h-[65vh] min-h-80 flex-col">
        <CursorList<Entry>
          label={t.title}
          source={{
            key: projectKey('audit'),
            pageSize: PAGE_SIZE,
            fetch: (cursor, signal) => {
              const query = cursor ? { limit: PAGE_SIZE, cursor } : { limit: PAGE_SIZE };
              return call(api.GET('/projects/{id}/audit', { params: { path: { id }, query }, signal }));
            },
          }}
          columns={COLUMNS}
          rowKey={(entry) => entry.id}
          rowLabel={(entry) => `${actionName(entry.action)}, ${actorName(entry.actor)}, ${minute(entry.createdAt)}`}
          onOpen={setOpen}
          empty={<Empty title={t.none}>{t.lead}</Empty>}
        />
      </div>
      {open && (
        <Dialog open onClose={() => setOpen(undefined)} title={actionName(open.action)}>
          <div className="space-y-4">
            <Facts
              rows={[
                [t.when, moment(open.createdAt)],
                [t.who, actorName(open.actor)],
                [t.target, open.target ?? t.project],
                [t.action, <code key="action" className="font-mono text-meta">{open.action}</code>],
              ]}
            />
            {Object.keys(open.details).length > 0 && (
              <CodeBlock code={JSON.stringify(open.details, undefined, 2)} what={t.details} />
            )}
          </div>
        </Dialog>
      )}
    </>
  );
}
