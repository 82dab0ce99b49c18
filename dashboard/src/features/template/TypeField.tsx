import { Select } from '#/ui/form';
import type { TemplateType } from './queries';
import { t } from './texts';

const TYPES: readonly TemplateType[] = ['TRANSACTIONAL', 'MARKETING', 'HEADLESS'];

/** The type of a template, with what the chosen one means. */
export function TypeField({ value, onChange }: { value: TemplateType; onChange: (type: TemplateType) => void }) {
  return (
    <Select
      name="type"
      label={t.type}
      hint={t.typeHints[value]}
      value={value}
      onChange={(event) => onChange(TYPES.find((type) => type === event.target.value) ?? 'MARKETING')}
    >
      {TYPES.map((type) => (
        <option key={type} value={type}>
          {t.types[type]}
        </option>
      ))}
    </Select>
  );
}
