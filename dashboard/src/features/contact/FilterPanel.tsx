import { Pencil, X } from 'lucide';
import { useMemo } from 'react';
import { FilterBuilder } from '#/features/segment/builder/FilterBuilder';
import { sentence } from '#/features/segment/builder/sentence';
import { type FilterTree, read } from '#/features/segment/builder/tree';
import { useVocabulary } from '#/features/segment/builder/vocabulary';
import { Preview } from '#/features/segment/Preview';
import { useDraft } from '#/features/segment/use-draft';
import { Button, IconButton, LinkButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { t } from './texts';

/** The condition by which the list is narrowed down: as a sentence, or while it is edited. */
export default function FilterPanel({ filter, isEdited, onEdit, onApply }: {
  filter: FilterTree | undefined;
  isEdited: boolean;
  onEdit: (edit: boolean) => void;
  onApply: (filter: FilterTree | undefined) => void;
}) {
  if (isEdited) return <Edited filter={filter} onEdit={onEdit} onApply={onApply} />;
  return filter ? <Shown filter={filter} onEdit={onEdit} onApply={onApply} /> : null;
}

function Shown({ filter, onEdit, onApply }: {
  filter: FilterTree;
  onEdit: (edit: boolean) => void;
  onApply: (filter: FilterTree | undefined) => void;
}) {
  const vocabulary = useVocabulary();
  const group = useMemo(() => read(filter), [filter]);
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-card border border-line bg-panel px-3 py-1.5">
      <p className="min-w-0 flex-1 basis-64 break-words">{sentence(group, vocabulary)}</p>
      <LinkButton size="small" to="/segments/new" search={{ condition: JSON.stringify(filter) }}>
        {t.asSegment}
      </LinkButton>
      <IconButton size="small" label={t.editFilter} onClick={() => onEdit(true)}>
        <Icon of={Pencil} size={14} />
      </IconButton>
      <IconButton size="small" label={t.removeFilter} onClick={() => onApply(undefined)}>
        <Icon of={X} size={14} />
      </IconButton>
    </div>
  );
}

function Edited({ filter, onEdit, onApply }: {
  filter: FilterTree | undefined;
  onEdit: (edit: boolean) => void;
  onApply: (filter: FilterTree | undefined) => void;
}) {
  const draft = useDraft(filter);
  const apply = () => {
    if (draft.isComplete) onApply(draft.tree);
    else draft.mark();
  };
  return (
    <section aria-label={t.filterTitle} className="max-h-[60vh] shrink-0 space-y-3 overflow-y-auto rounded-card border border-accent bg-panel p-3">
      <FilterBuilder value={draft.group} onChange={draft.set} issues={draft.issues} marksEmpty={draft.marksEmpty} />
      <Preview draft={draft} />
      <div className="flex justify-end gap-2">
        <Button onClick={() => onEdit(false)}>{t.cancel}</Button>
        <Button variant="primary" onClick={apply}>
          {t.applyFilter}
        </Button>
      </div>
    </section>
  );
}
