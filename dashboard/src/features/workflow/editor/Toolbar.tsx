import { AlertTriangle, Check, Info, Keyboard, List, Redo2, Undo2, Waypoints, WandSparkles } from 'lucide';
import { useState } from 'react';
import { Button, IconButton } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Dialog } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import type { Problem } from '../model/problems';
import { t } from './texts';
import type { Editing } from './useEditing';

type View = 'graph' | 'list';

/** What can be done with the steps as a whole. */
export function Toolbar({ editing, view, onView, problems, showsProblems, onProblems, isPinned, overlaps, onTidy }: {
  editing: Editing;
  view: View;
  onView: (view: View) => void;
  problems: readonly Problem[];
  showsProblems: boolean;
  onProblems: () => void;
  isPinned: boolean;
  overlaps: boolean;
  onTidy: () => void;
}) {
  const [keys, setKeys] = useState(false);
  const fails = problems.filter((problem) => problem.severity === 'fails').length;
  const notes = problems.length - fails;
  return (
    <div role="toolbar" aria-label={t.toolbar} className="flex flex-wrap items-center gap-1 border-b border-line bg-panel p-1.5">
      <IconButton label={t.undo} disabled={!editing.canUndo || editing.busy} onClick={editing.undo}>
        <Icon of={Undo2} size={15} />
      </IconButton>
      <IconButton label={t.redo} disabled={!editing.canRedo || editing.busy} onClick={editing.redo}>
        <Icon of={Redo2} size={15} />
      </IconButton>
      {view === 'graph' && isPinned && (
        <Button variant="ghost" className={classes(overlaps && 'text-accent')} onClick={onTidy}>
          <Icon of={WandSparkles} size={15} />
          {overlaps ? t.tidyOverlaps : t.tidy}
        </Button>
      )}
      <span role="status" className="px-1 text-meta text-muted">
        {editing.busy ? t.saving : ''}
      </span>
      <span className="ml-auto flex items-center gap-1">
        <Button variant="ghost" aria-expanded={showsProblems} onClick={onProblems}>
          <Icon
            of={fails > 0 ? AlertTriangle : notes > 0 ? Info : Check}
            size={15}
            className={fails > 0 ? 'text-bad' : notes > 0 ? 'text-warn' : 'text-good'}
          />
          {problems.length === 0 ? t.noProblemsShort : t.problemCount(fails, notes)}
        </Button>
        <span role="group" aria-label={t.view} className="flex rounded-control border border-line">
          {(['graph', 'list'] as const).map((one) => (
            <IconButton key={one} label={t.views[one]} aria-pressed={view === one} className={classes(view === one && 'bg-accent-soft! text-accent')} onClick={() => onView(one)}>
              <Icon of={one === 'graph' ? Waypoints : List} size={15} />
            </IconButton>
          ))}
        </span>
        <IconButton label={t.keys} className="max-sm:hidden" onClick={() => setKeys(true)}>
          <Icon of={Keyboard} size={15} />
        </IconButton>
      </span>
      {keys && (
        <Dialog open onClose={() => setKeys(false)} title={t.keys}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
            {t.keyList.map(([key, does]) => (
              <div key={key} className="contents">
                <dt>
                  <kbd className="rounded border border-line bg-raised px-1.5 font-sans text-meta">{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </div>
  );
}
