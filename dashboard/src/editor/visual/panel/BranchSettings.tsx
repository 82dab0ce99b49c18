import { Button } from '#/ui/button';
import { TextField } from '#/ui/form';
import { Banner } from '#/ui/status';
import { isUnset } from '../../unset.ts';
import { t } from '../texts';
import type { SettingsProps } from './settings';

/** The settings of a branch of a condition, and what can come behind it. */
export function BranchSettings({ editor, placed, attrs, set }: SettingsProps) {
  const add = (kind: 'elsif' | 'else') => {
    const { schema } = editor;
    const { branch, paragraph } = schema.nodes;
    if (!branch || !paragraph) return;
    const node = branch.create({ kind }, paragraph.create());
    editor.view.dispatch(editor.state.tr.insert(placed.pos + placed.node.nodeSize, node));
  };
  const $pos = editor.state.doc.resolve(placed.pos);
  const isLast = $pos.index() === $pos.parent.childCount - 1;
  const hasElse = $pos.parent.lastChild?.attrs.kind === 'else';
  return (
    <>
      {isUnset(attrs.kind, attrs.test) && <Banner tone="warn">{t.unsetText}</Banner>}
      {attrs.kind === 'else' ? null : (
        <TextField
          label={t.test}
          hint={t.testHint}
          value={String(attrs.test)}
          onChange={(event) => set({ test: event.target.value })}
          spellCheck={false}
          className="font-mono"
        />
      )}
      <div className="flex flex-wrap gap-2">
        {attrs.kind !== 'else' && (
          <Button size="small" onClick={() => add('elsif')}>
            {t.addElsif}
          </Button>
        )}
        {isLast && !hasElse && (
          <Button size="small" onClick={() => add('else')}>
            {t.addElse}
          </Button>
        )}
      </div>
    </>
  );
}
