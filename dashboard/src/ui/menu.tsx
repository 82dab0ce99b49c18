import { type ReactElement, type ReactNode, Suspense, useState } from 'react';
import { lazyPart } from '#/router/lazy';
import { Slot } from './slot';

/** An entry of a menu; a heading; or a line. */
export type MenuEntry =
  | {
      text: ReactNode;
      icon?: ReactNode;
      /** Marks the one that is chosen. */
      checked?: boolean;
      danger?: boolean;
      disabled?: boolean;
      lang?: string;
      onSelect: () => void;
    }
  | { text: ReactNode; icon?: ReactNode; /** Opens in a tab of its own. */ href: string }
  | { heading: string }
  | 'line';

const MenuBody = lazyPart(() => import('./menu-body'), 'floats', ({ trigger }) => trigger);

/**
 * A menu that its `trigger`, a button, opens. Its code is loaded when somebody comes near the trigger, because no page
 * needs it to be shown.
 */
export function Menu({
  trigger,
  entries,
  align = 'end',
  movesFocus = false,
}: {
  trigger: ReactElement;
  entries: readonly MenuEntry[];
  align?: 'start' | 'end';
  /** Whether what the entries do moves the focus elsewhere: the trigger does not take it back then. */
  movesFocus?: boolean;
}) {
  const [loaded, setLoaded] = useState(false);
  const plain = (
    <Slot
      aria-haspopup="menu"
      aria-expanded={loaded}
      onPointerEnter={MenuBody.preload}
      onFocus={MenuBody.preload}
      onClick={() => setLoaded(true)}
    >
      {trigger}
    </Slot>
  );
  if (!loaded) return plain;
  return (
    <Suspense fallback={plain}>
      <MenuBody trigger={trigger} entries={entries} align={align} movesFocus={movesFocus} />
    </Suspense>
  );
}
