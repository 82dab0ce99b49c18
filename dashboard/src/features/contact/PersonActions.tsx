import { Download, Eraser, MoreHorizontal, Trash2 } from 'lucide';
import { useState } from 'react';
import { api, call, download } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { useIsAdmin } from '#/features/project/open';
import { go } from '#/router';
import { IconButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import { Menu, type MenuEntry } from '#/ui/menu';
import { done, failed } from '#/ui/toast';
import { EraseDialog } from './EraseDialog';
import type { Contact } from './queries';
import { t } from './texts';

/** What can be done with everything about a person: take it along, or remove it. */
export function PersonActions({ contact }: { contact: Contact }) {
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<'remove' | 'erase'>();
  const { id, email } = contact;
  const leave = async (text: string) => {
    go('/contacts', { replace: true });
    queries.removeQueries({ queryKey: projectKey('contacts', 'one', id) });
    await queries.invalidateQueries({ queryKey: projectKey('contacts') });
    done(text);
  };
  const remove = async () => {
    await call(api.DELETE('/contacts/{id}', { params: { path: { id } } }));
    await leave(t.removed(email));
  };
  const entries: MenuEntry[] = [
    {
      text: t.exportPerson,
      icon: <Icon of={Download} size={14} />,
      onSelect: () => void download(`/contacts/${id}/export`, `contact-${id}.json`).catch(failed),
    },
    'line',
    { text: t.removeOne, icon: <Icon of={Trash2} size={14} />, danger: true, onSelect: () => setOpen('remove') },
  ];
  if (isAdmin) entries.push({ text: t.erase, icon: <Icon of={Eraser} size={14} />, danger: true, onSelect: () => setOpen('erase') });
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t.more} variant="default">
            <Icon of={MoreHorizontal} size={16} />
          </IconButton>
        }
        entries={entries}
      />
      <Confirm open={open === 'remove'} onClose={() => setOpen(undefined)} title={t.removeOneTitle(email)} action={t.remove} onConfirm={remove}>
        <p>{t.removeText}</p>
      </Confirm>
      <EraseDialog contact={contact} open={open === 'erase'} onClose={() => setOpen(undefined)} onBegun={() => leave(t.erasing(email))} />
    </>
  );
}
