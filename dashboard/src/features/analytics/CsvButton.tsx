import { Download } from 'lucide';
import { useState } from 'react';
import { IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { failed } from '#/ui/toast';
import { downloadCsv, type Span } from './queries';
import { t } from './texts';

/** Saves a table of figures as CSV. `table` is the last part of its path in the API. */
export function CsvButton({ table, what, span }: { table: string; what: string; span?: Span }) {
  const [busy, setBusy] = useState(false);
  const save = () => {
    setBusy(true);
    const days = span ? `-${span.startDate.slice(0, 10)}-${span.endDate.slice(0, 10)}` : '';
    downloadCsv(table, span, `${table}${days}.csv`)
      .catch(failed)
      .finally(() => setBusy(false));
  };
  return (
    <IconButton label={t.csv(what)} size="small" busy={busy} onClick={save}>
      <Icon of={Download} size={14} />
    </IconButton>
  );
}
