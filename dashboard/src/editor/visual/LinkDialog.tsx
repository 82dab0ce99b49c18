import type { Editor } from '@tiptap/core';
import { useState } from 'react';
import { Button } from '#/ui/button';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton } from '#/ui/form';
import { VariableInput } from '../variables/VariableInput';
import { t } from './texts';

/** Links the selected text, or changes the link that the cursor is in. */
export function LinkDialog({ editor, onClose }: { editor: Editor; onClose: () => void }) {
  const before = String(editor.getAttributes('link').href ?? '');
  const [href, setHref] = useState(before);
  const close = () => {
    onClose();
    requestAnimationFrame(() => editor.commands.focus());
  };
  const apply = (to: string) => {
    const chain = editor.chain().focus().extendMarkRange('link');
    if (to === '') chain.unsetMark('link').run();
    else if (editor.state.selection.empty && !before) {
      chain.insertContent({ type: 'text', text: to, marks: [{ type: 'link', attrs: { href: to } }] }).run();
    } else chain.setMark('link', { href: to }).run();
    close();
  };
  return (
    <Dialog open onClose={close} title={t.link}>
      <Form onSubmit={() => apply(href.trim())}>
        <VariableInput label={t.linkTo} hint={t.linkHint} value={href} onChange={setHref} placeholder="https://" />
        <div className="flex justify-end gap-2">
          {before && <Button onClick={() => apply('')}>{t.removeLink}</Button>}
          <SubmitButton disabled={href.trim() === ''}>{t.setLink}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}
