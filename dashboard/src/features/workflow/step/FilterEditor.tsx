import { useState } from 'react';
import { FilterBuilder } from '#/features/segment/builder/FilterBuilder';
import { isComplete } from '#/features/segment/builder/rules';
import { isTree, newGroup, read, rulesOf, write } from '#/features/segment/builder/tree';
import { useIssues } from '#/ui/form';
import { JsonField } from './JsonField';

/** Edits conditions. Those that the editor of segments cannot read are edited as JSON. */
export default function FilterEditor({ name, label, value, error, context, onChange }: {
  name: string;
  label: string;
  value: unknown;
  error: string | undefined;
  context: readonly string[] | undefined;
  onChange: (value: unknown, invalid: boolean) => void;
}) {
  const issues = useIssues(name);
  const [group, setGroup] = useState(() => (isTree(value) ? read(value) : newGroup()));
  if (value !== undefined && value !== null && !isTree(value)) {
    return <JsonField label={label} name={name} rows={10} value={value} error={error} onChange={onChange} />;
  }
  return (
    <>
      <FilterBuilder
        value={group}
        issues={issues}
        marksEmpty={error !== undefined}
        {...(context ? { context } : {})}
        onChange={(next) => {
          setGroup(next);
          onChange(write(next).tree, !rulesOf(next).every(isComplete));
        }}
      />
      {error && <p className="text-meta font-medium text-bad">{error}</p>}
    </>
  );
}
