import { useEffect, useState } from 'react';
import type { Schemas } from '#/api/client';
import { Tag } from '#/ui/status';
import { type Column as TableColumn, Table } from '#/ui/table';
import { t } from './texts';
import { type Mapping, onlyOnce } from './upload';

type FileColumn = Schemas['ImportPreview']['columns'][number];

const CONTROL = 'h-8 rounded-control border border-control bg-panel px-2 text-body text-ink pointer-coarse:h-11';

/** The name that a column without a field of data would give one, as an import does it. */
const fieldOf = (name: string) => name.trim().toLowerCase();

/** The columns of a file, and what each becomes. A change is looked at anew by the service. */
export function Columns({ columns, fresh, onMapping }: {
  columns: readonly FileColumn[];
  fresh: readonly string[];
  onMapping: (to: Mapping) => void;
}) {
  const change = (name: string, field: string | null) => {
    const mapping = Object.fromEntries(columns.filter((one) => one.name !== '').map((one) => [one.name, one.field]));
    const only = onlyOnce(field);
    // an address and a subscription come from one column each
    if (only) for (const [other, to] of Object.entries(mapping)) if (onlyOnce(to) === only) mapping[other] = null;
    onMapping({ ...mapping, [name]: only ?? field });
  };
  const rows: readonly TableColumn<FileColumn>[] = [
    { name: t.column, cell: (one) => <span className="font-medium break-words">{one.name || t.unnamed}</span> },
    {
      name: t.samples,
      wideOnly: true,
      cell: (one) => (
        <span className="line-clamp-2 break-all text-muted">
          {one.samples.join(', ')} {one.type && <Tag>{t.types[one.type as keyof typeof t.types]}</Tag>}
        </span>
      ),
    },
    { name: t.becomes, cell: (one) => <Becomes key={one.field} column={one} isFresh={fresh.includes(one.field ?? '')} onChange={change} /> },
  ];
  return <Table label={t.columns} columns={rows} rows={columns} rowKey={(one) => String(columns.indexOf(one))} />;
}

/** What a column becomes. The name of a field is taken once it is left or confirmed with Enter. */
function Becomes({ column, isFresh, onChange }: {
  column: FileColumn;
  isFresh: boolean;
  onChange: (name: string, field: string | null) => void;
}) {
  const { name, field } = column;
  const isField = field !== null && field !== 'email' && field !== 'subscribed';
  const [text, setText] = useState(field ?? '');
  useEffect(() => setText(field ?? ''), [field]);
  if (name === '') return <span className="text-muted">{t.asNothing}</span>;
  const confirm = () => {
    const to = text.trim();
    if (to !== field) onChange(name, to === '' ? null : to);
  };
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      <select
        aria-label={t.becomesOf(name)}
        value={isField ? 'field' : (field ?? '')}
        onChange={(event) => onChange(name, event.target.value === 'field' ? fieldOf(name) : event.target.value || null)}
        className={CONTROL}
      >
        <option value="email">{t.asEmail}</option>
        <option value="subscribed">{t.asSubscribed}</option>
        <option value="field">{t.asField}</option>
        <option value="">{t.asNothing}</option>
      </select>
      {isField && (
        <input
          aria-label={t.fieldName(name)}
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
          onBlur={confirm}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            // the form around it would begin the import
            event.preventDefault();
            confirm();
          }}
          className={`${CONTROL} w-36 font-mono`}
        />
      )}
      {isFresh && <Tag>{t.newField}</Tag>}
    </span>
  );
}
