import { number } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { audienceOf, type Term } from './ledger';
import { t } from './texts';

/** "5,040 = 5,012 accepted + 21 skipped + 7 failed": every number opens its list. */
export function LedgerLine({ id, terms }: { id: string; terms: readonly Term[] }) {
  if (terms.length === 0) return null;
  return (
    <p aria-label={t.ledgerLine} role="group" className="tabular text-section leading-8">
      <strong className="font-semibold">{number(audienceOf(terms))}</strong>
      {terms.map((term, index) => (
        <span key={term.state}>
          {index === 0 ? ' = ' : ' + '}
          <TextLink to={`/campaigns/${id}`} search={{ tab: 'ledger', state: term.state }}>
            {number(term.count)} {t.states[term.state]}
          </TextLink>
        </span>
      ))}
    </p>
  );
}
