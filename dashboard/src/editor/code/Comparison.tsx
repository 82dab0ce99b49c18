import { html } from '@codemirror/lang-html';
import { MergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { liquidMarks } from './liquid-marks';
import { withNonce } from './nonce';
import { phrases } from './phrases';
import { codeTheme } from './theme';

/** Two codes side by side, with what differs marked. */
export default function Comparison({ before, now, former, current }: {
  before: string;
  now: string;
  /** What the sides are called. */
  former: string;
  current: string;
}) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const side = (doc: string, label: string) => ({
      doc,
      extensions: [
        withNonce(),
        phrases,
        lineNumbers(),
        EditorState.readOnly.of(true),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        html(),
        liquidMarks,
        ...codeTheme,
      ],
    });
    const view = new MergeView({
      parent: host.current,
      a: side(before, former),
      b: side(now, current),
      collapseUnchanged: { margin: 4, minSize: 8 },
    });
    return () => view.destroy();
  }, [before, now, former, current]);
  return (
    <div>
      <div aria-hidden className="grid grid-cols-2 gap-3 pb-1 font-medium">
        <span>{former}</span>
        <span>{current}</span>
      </div>
      <div
        ref={host}
        role="region"
        aria-label={`${former}, ${current}`}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[40rem] overflow-auto rounded-card border border-line"
      />
    </div>
  );
}
