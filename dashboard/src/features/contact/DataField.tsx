import { Undo2, X } from 'lucide';
import { useId } from 'react';
import { IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { converted, DATA_TYPES, type DataProblem, type DataRow, isChanged } from './data-rows';
import { t } from './texts';

const CONTROL =
  'w-full min-w-0 rounded-control border border-control bg-panel px-2 text-body text-ink aria-invalid:border-bad disabled:opacity-50';

function textOfProblem({ code, detail }: DataProblem): string {
  return code === 'notJson' ? t.notJson(detail ?? '') : t[code];
}

/** A field of a contact's data: its name, its type, and its value in a control that fits. */
export function DataField({ row, problem, onChange, onRemove }: {
  row: DataRow;
  problem: DataProblem | undefined;
  onChange: (to: Partial<DataRow>) => void;
  onRemove: () => void;
}) {
  const id = useId();
  const control = {
    'aria-label': row.name,
    'aria-invalid': problem ? true : undefined,
    'aria-describedby': problem ? `${id}-problem` : undefined,
    'data-value': true,
    disabled: row.isRemoved,
    value: row.text,
  } as const;
  const setText = (event: { target: { value: string } }) => onChange({ text: event.target.value });
  return (
    <div className={classes('rounded-control border px-2 pt-1 pb-2', isChanged(row) ? 'border-accent bg-accent-soft' : 'border-line')}>
      <div className="flex items-center gap-1">
        <span className={classes('min-w-0 flex-1 truncate font-mono text-meta', row.isRemoved && 'line-through')} title={row.name}>
          {row.name}
        </span>
        <select
          aria-label={t.type(row.name)}
          value={row.type}
          disabled={row.isRemoved}
          onChange={(event) => {
            const type = DATA_TYPES.find((one) => one === event.target.value) ?? 'text';
            onChange({ type, text: converted(row.text, type) });
          }}
          className="h-6 rounded-control bg-transparent text-meta text-muted pointer-coarse:h-11"
        >
          {DATA_TYPES.map((type) => (
            <option key={type} value={type}>
              {t.types[type]}
            </option>
          ))}
        </select>
        <IconButton size="small" label={row.isRemoved ? t.restoreField(row.name) : t.removeField(row.name)} onClick={onRemove}>
          <Icon of={row.isRemoved ? Undo2 : X} size={14} />
        </IconButton>
      </div>
      {row.type === 'json' ? (
        <textarea {...control} rows={Math.min(10, Math.max(3, row.text.split('\n').length))} spellCheck={false} onChange={setText} className={classes(CONTROL, 'py-1 font-mono')} />
      ) : row.type === 'boolean' ? (
        <select {...control} onChange={setText} className={classes(CONTROL, 'h-8 pointer-coarse:h-11')}>
          <option value="true">{t.yes}</option>
          <option value="false">{t.no}</option>
        </select>
      ) : (
        <input
          {...control}
          type={row.type === 'date' ? 'date' : 'text'}
          inputMode={row.type === 'number' ? 'decimal' : undefined}
          onChange={setText}
          autoComplete="off"
          className={classes(CONTROL, 'h-8 pointer-coarse:h-11')}
        />
      )}
      {problem && (
        <p id={`${id}-problem`} className="mt-1 text-meta font-medium text-bad">
          {textOfProblem(problem)}
        </p>
      )}
    </div>
  );
}
