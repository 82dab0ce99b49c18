import { Tag } from '#/ui/status';
import type { TemplateType } from './queries';
import { t } from './texts';

/** The type of a template, with what it means on hover. */
export function TypeTag({ type }: { type: TemplateType }) {
  return (
    <span title={t.typeHints[type]}>
      <Tag>{t.types[type]}</Tag>
    </span>
  );
}
