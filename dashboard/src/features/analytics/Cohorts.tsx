import { useQuery } from '@tanstack/react-query';
import { monthName, number, percent } from '#/i18n/format';
import { LinkButton } from '#/ui/button';
import { Empty } from '#/ui/empty';
import { Block } from './Block';
import { cohortTable } from './cohort-table';
import { cohorts } from './queries';
import { t } from './texts';

/** How many contacts of each month still open mails in the months since: darker is more, and each cell says how much. */
export function Cohorts() {
  const rows = useQuery(cohorts());
  return (
    <Block
      title={t.cohorts}
      lead={t.cohortsLead}
      table="cohorts"
      rows={rows}
      empty={<Empty title={t.noCohorts} action={<LinkButton to="/contacts/import">{t.importContacts}</LinkButton>} />}
    >
      {(all) => {
        const table = cohortTable(all);
        return (
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
          <div className="relative overflow-x-auto" role="region" aria-label={t.cohorts} tabIndex={0}>
            <table className="border-separate border-spacing-0.5 text-left whitespace-nowrap">
              <thead>
                <tr className="text-meta text-muted">
                  <th scope="col" className="pr-4 font-medium">
                    {t.cohort}
                  </th>
                  <th scope="col" className="pr-4 text-right font-medium">
                    {t.contacts}
                  </th>
                  {Array.from({ length: table.months }, (_, later) => (
                    <th key={later} scope="col" className="px-2 text-right font-medium">
                      {t.monthLater(later)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {table.rows.map((row) => (
                  <tr key={row.cohort}>
                    <th scope="row" className="pr-4 font-normal">
                      {monthName(row.cohort)}
                    </th>
                    <td className="pr-4 text-right">{number(row.contacts)}</td>
                    {row.cells.map((cell, later) => (
                      <td
                        // oxlint-disable-next-line react/no-array-index-key -- the index is the month
                        key={later}
                        title={number(cell.opened)}
                        className="min-w-14 rounded px-2 py-1 text-right"
                        style={{ background: `color-mix(in srgb, var(--accent) ${Math.round(cell.share * 45)}%, var(--raised))` }}
                      >
                        {percent(cell.share)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      }}
    </Block>
  );
}
