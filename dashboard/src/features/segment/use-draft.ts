import { useMemo, useState } from 'react';
import { ApiError, type Issue } from '#/api/error';
import { isComplete } from './builder/rules';
import { type FilterTree, type Group, newGroup, read, rulesOf, write } from './builder/tree';

/** A condition while it is edited, and what is wrong with it. */
export interface Draft {
  group: Group;
  tree: FilterTree;
  /** Whether every filter is filled in. */
  isComplete: boolean;
  /** Whether it differs from what it began as. */
  isChanged: boolean;
  issues: readonly Issue[];
  marksEmpty: boolean;
  set: (group: Group) => void;
  /** Looks at an error of saving: true when it is about the condition, and is shown there. */
  take: (error: unknown) => boolean;
  /** Marks what is not filled in. */
  mark: () => void;
}

const NONE: readonly Issue[] = [];

/** Edits a condition, beginning with one that there is. */
export function useDraft(begun: FilterTree | null | undefined): Draft {
  const [group, setGroup] = useState(() => (begun ? read(begun) : newGroup()));
  const [issues, setIssues] = useState(NONE);
  const [marksEmpty, setMarks] = useState(false);
  const tree = useMemo(() => write(group).tree, [group]);
  const complete = useMemo(() => {
    const rules = rulesOf(group);
    return rules.length > 0 && rules.every(isComplete);
  }, [group]);
  const before = useMemo(() => (begun ? JSON.stringify(write(read(begun)).tree) : ''), [begun]);
  return {
    group,
    tree,
    isComplete: complete,
    isChanged: JSON.stringify(tree) !== before,
    issues,
    marksEmpty,
    set: (to) => {
      setGroup(to);
      setIssues(NONE);
    },
    take: (error) => {
      if (!(error instanceof ApiError)) return false;
      const own = error.issues.filter((issue) => issue.field.startsWith('condition'));
      setIssues(own);
      return own.length > 0 && own.length === error.issues.length;
    },
    mark: () => setMarks(true),
  };
}
