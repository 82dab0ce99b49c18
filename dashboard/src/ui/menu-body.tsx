import { Check } from 'lucide';
import { DropdownMenu } from 'radix-ui';
import { type ReactElement, useRef, useState } from 'react';
import { classes } from './classes';
import type { MenuEntry } from './menu';
import { Icon } from './icon';

const ITEM = classes(
  'flex min-h-8 cursor-default items-center gap-2 rounded-control px-2 outline-none data-highlighted:bg-raised',
  'data-disabled:opacity-50 pointer-coarse:min-h-11',
);

/** A menu whose code is there. It is open from the beginning: somebody pressed its trigger. */
export default function MenuBody({ trigger, entries, align, movesFocus }: {
  trigger: ReactElement;
  entries: readonly MenuEntry[];
  align: 'start' | 'end';
  movesFocus: boolean;
}) {
  const [open, setOpen] = useState(true);
  const chosen = useRef(false);
  return (
    <DropdownMenu.Root open={open} onOpenChange={setOpen}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={(event) => {
            if (movesFocus && chosen.current) event.preventDefault();
            chosen.current = false;
          }}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 overflow-y-auto rounded-card border border-line bg-panel p-1 shadow-pop"
        >
          {entries.map((entry, index) => (
            // entries do not move while the menu is open
            // oxlint-disable-next-line react/no-array-index-key
            <Entry key={index} entry={entry} onChosen={() => {
                chosen.current = true;
              }} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function Entry({ entry, onChosen }: { entry: MenuEntry; onChosen: () => void }) {
  if (entry === 'line') return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
  if ('heading' in entry) {
    return <DropdownMenu.Label className="px-2 py-1 text-meta text-muted">{entry.heading}</DropdownMenu.Label>;
  }
  if ('href' in entry) {
    return (
      <DropdownMenu.Item asChild className={ITEM}>
        <a href={entry.href} target="_blank" rel="noreferrer">
          {entry.icon}
          {entry.text}
        </a>
      </DropdownMenu.Item>
    );
  }
  return (
    <DropdownMenu.Item
      disabled={entry.disabled ?? false}
      onSelect={() => {
        onChosen();
        entry.onSelect();
      }}
      lang={entry.lang}
      className={classes(ITEM, entry.danger && 'text-bad')}
    >
      {entry.icon}
      <span className="min-w-0 max-w-64 flex-1 truncate">{entry.text}</span>
      {entry.checked && <Icon of={Check} size={14} />}
    </DropdownMenu.Item>
  );
}
