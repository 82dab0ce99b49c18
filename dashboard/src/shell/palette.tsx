import { useQuery } from '@tanstack/react-query';
import { Command } from 'cmdk';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';
import { useProject } from '#/features/project/open';
import { t as canvas } from '#/features/workflow/editor/texts';
import { go, type Search } from '#/router';
import { here } from '#/router/location';
import { copyText } from '#/ui/clipboard';
import { Dialog } from '#/ui/dialog';
import { Switch } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { done } from '#/ui/toast';
import { NAVIGATION } from './navigation';
import { t } from './palette-texts';
import { setShortcuts, shortcutsAreOn } from './shortcuts';
import { t as frame } from './texts';

/** How many of each kind are shown. */
const EACH = 5;

/** The palette of commands, and the list of shortcuts. */
export default function Palette({ mode, onClose }: { mode: 'commands' | 'shortcuts'; onClose: () => void }) {
  return mode === 'shortcuts' ? <Shortcuts onClose={onClose} /> : <Commands onClose={onClose} />;
}

const ITEM =
  'flex min-h-9 cursor-default items-center gap-2 rounded-control px-2 data-[selected=true]:bg-raised pointer-coarse:min-h-11';
const GROUP = '[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-meta [&_[cmdk-group-heading]]:text-muted';

function Commands({ onClose }: { onClose: () => void }) {
  const project = useProject();
  const [text, setText] = useState('');
  const search = text.trim();
  const { data: found = [] } = useQuery({
    queryKey: projectKey('palette', search),
    enabled: search.length >= 2,
    queryFn: ({ signal }) => find(search, signal),
    placeholderData: (before) => before,
  });
  const then = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  const open = (path: string, values?: Search) => then(() => go(path, values ? { search: values } : {}));
  const copy = (value: string) => then(() => copyText(value).then((isCopied) => isCopied && done(t.copied)));
  return (
    <Dialog open onClose={onClose} title={frame.commands}>
      <Command label={frame.commands} shouldFilter loop>
        <Command.Input
          value={text}
          onValueChange={setText}
          placeholder={t.placeholder}
          className="mb-2 h-10 w-full rounded-control border border-control bg-panel px-3 text-input"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto">
          <Command.Empty className="p-3 text-muted">{t.nothing}</Command.Empty>
          {found.length > 0 && (
            <Command.Group heading={t.found} className={GROUP} forceMount>
              {found.map((hit) => (
                <Command.Item
                  key={`${hit.kind} ${hit.id}`}
                  value={`${search} ${hit.kind} ${hit.name} ${hit.id}`}
                  onSelect={open(hit.to)}
                  className={ITEM}
                >
                  <span className="w-24 shrink-0 text-muted">{hit.kind}</span>
                  <span className="min-w-0 truncate">{hit.name}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          <Command.Group heading={t.go} className={GROUP}>
            {NAVIGATION.flatMap((group) => group.pages).map(({ to, name, icon }) => (
              <Command.Item key={to} value={`${t.go} ${name}`} onSelect={open(to)} className={ITEM}>
                <Icon of={icon} size={15} />
                {name}
              </Command.Item>
            ))}
            <Command.Item value={`${t.go} ${frame.account}`} onSelect={open('/account')} className={ITEM}>
              {frame.account}
            </Command.Item>
          </Command.Group>
          <Command.Group heading={t.create} className={GROUP}>
            <Command.Item onSelect={open('/contacts', { add: true })} className={ITEM}>
              {t.newContact}
            </Command.Item>
            <Command.Item onSelect={open('/segments/new')} className={ITEM}>
              {t.newSegment}
            </Command.Item>
            <Command.Item onSelect={open('/templates/create')} className={ITEM}>
              {t.newTemplate}
            </Command.Item>
            <Command.Item onSelect={open('/campaigns/create')} className={ITEM}>
              {t.newCampaign}
            </Command.Item>
            <Command.Item onSelect={open('/workflows', { add: true })} className={ITEM}>
              {t.newWorkflow}
            </Command.Item>
            <Command.Item onSelect={open('/projects/create')} className={ITEM}>
              {frame.newProject}
            </Command.Item>
          </Command.Group>
          <Command.Group heading={t.copy} className={GROUP}>
            {project.public && (
              <Command.Item onSelect={copy(project.public)} className={ITEM}>
                {t.copyPublic}
              </Command.Item>
            )}
            <Command.Item onSelect={copy(project.id)} className={ITEM}>
              {t.copyProject}
            </Command.Item>
            <Command.Item onSelect={open('/settings', { tab: 'keys' })} className={ITEM}>
              {t.keys}
            </Command.Item>
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  );
}

interface Hit {
  kind: string;
  id: string;
  name: string;
  to: string;
}

/** The first of each kind that match; a kind that cannot be asked is left out. */
async function find(search: string, signal: AbortSignal): Promise<Hit[]> {
  const query = { search, pageSize: EACH };
  const settled = await Promise.allSettled([
    call(api.GET('/contacts', { params: { query: { search, limit: EACH } }, signal })).then((page) =>
      page.data.map((one): Hit => ({ kind: t.contact, id: one.id, name: one.email, to: `/contacts/${one.id}` })),
    ),
    call(api.GET('/templates', { params: { query }, signal })).then((page) =>
      page.data.map((one): Hit => ({ kind: t.template, id: one.id, name: one.name, to: `/templates/${one.id}` })),
    ),
    call(api.GET('/campaigns', { params: { query }, signal })).then((page) =>
      page.data.map((one): Hit => ({ kind: t.campaign, id: one.id, name: one.name, to: `/campaigns/${one.id}` })),
    ),
    call(api.GET('/workflows', { params: { query }, signal })).then((page) =>
      page.data.map((one): Hit => ({ kind: t.workflow, id: one.id, name: one.name, to: `/workflows/${one.id}` })),
    ),
    call(api.GET('/segments', { signal })).then((all) =>
      all
        .filter((one) => one.name.toLowerCase().includes(search.toLowerCase()))
        .slice(0, EACH)
        .map((one): Hit => ({ kind: t.segment, id: one.id, name: one.name, to: `/segments/${one.id}` })),
    ),
  ]);
  return settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
}

/** Keys that belong together: what they are for, and each with what it does. */
type Keys = [heading: string, keys: readonly (readonly [key: string, does: string])[]];

function Shortcuts({ onClose }: { onClose: () => void }) {
  const [on, setOn] = useState(shortcutsAreOn);
  // the keys of the canvas belong to the page of one workflow
  const isWorkflow = /\/workflows\/[^/]+$/.test(here().pathname);
  const groups: Keys[] = [
    [
      t.everywhere,
      [
        ['Ctrl/⌘ K', t.openPalette],
        ['/', t.focusSearch],
        ['?', t.thisList],
        ['Esc', t.closes],
      ],
    ],
    [t.inLists, t.listKeys],
    ...(isWorkflow ? [[canvas.keys, canvas.keyList] satisfies Keys] : []),
    [
      t.go,
      NAVIGATION.flatMap((group) => group.pages).map((page) => [`G ${t.chord} ${page.key?.toUpperCase() ?? ''}`, page.name] as const),
    ],
    [
      t.create,
      [
        [`N ${t.chord} C`, t.newContact],
        [`N ${t.chord} T`, t.newTemplate],
        [`N ${t.chord} M`, t.newCampaign],
        [`N ${t.chord} W`, t.newWorkflow],
      ],
    ],
  ];
  return (
    <Dialog open onClose={onClose} title={frame.shortcuts}>
      <Switch
        label={t.on}
        hint={t.onHint}
        checked={on}
        onChange={(next) => {
          setShortcuts(next);
          setOn(next);
        }}
      />
      {groups.map(([heading, keys]) => (
        <section key={heading} aria-label={heading} className="mt-4">
          <h3 className="mb-1.5 font-medium">{heading}</h3>
          <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1.5">
            {keys.map(([key, name]) => (
              <div key={key} className="contents">
                <dt>{name}</dt>
                <dd className="text-right">
                  <kbd className="font-mono text-meta text-muted">{key}</kbd>
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
