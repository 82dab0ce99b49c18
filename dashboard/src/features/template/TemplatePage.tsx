import { MoreHorizontal, Send } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { MailEditor } from '#/editor/MailEditor';
import { t as editor } from '#/editor/texts';
import { useWriting, type Writing } from '#/editor/writing';
import { go, oneOf, useSearchState } from '#/router';
import { dropGuards } from '#/router/navigate';
import { Button, IconButton, TextLink } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { Page } from '#/ui/page';
import { Banner, Status } from '#/ui/status';
import { Tab, Tabs } from '#/ui/tabs';
import { Time } from '#/ui/time';
import { done, failed } from '#/ui/toast';
import { mayClosePart, Unsaved } from '#/ui/unsaved';
import { DeleteTemplate } from './DeleteTemplate';
import { knowTemplate, saveTemplate, type Template, templateVersions } from './queries';
import { ResultsPart } from './ResultsPart';
import { SettingsPart } from './SettingsPart';
import { TestDialog } from './TestDialog';
import { t } from './texts';
import { TypeTag } from './TypeTag';
import { VersionsPart } from './VersionsPart';
import { Saver } from './Saver';

const TABS = ['write', 'settings', 'versions', 'results'] as const;
const SEARCH = { tab: oneOf(TABS) };

/** A template that is loaded. */
export function TemplatePage({ stored }: { stored: Template }) {
  const [{ tab }, setSearch] = useSearchState(SEARCH);
  const writing = useWriting(stored, (changes) => saveTemplate(stored.id, changes), t);
  const { draft, setDraft, isDirty, isOvertaken, adopt, revision } = writing;
  return (
    <Page
      title={stored.name}
      full
      above={<TextLink to="/templates">{t.templates}</TextLink>}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <TypeTag type={stored.type} />
          {isDirty ? (
            <Status tone="warn">{t.unsaved}</Status>
          ) : (
            <Status tone="good">
              <span>
                {t.savedAt} <Time at={stored.savedAt} /> <Saver by={stored.savedBy ?? undefined} />
              </span>
            </Status>
          )}
        </span>
      }
      actions={<Actions stored={stored} writing={writing} isWriting={tab === 'write'} />}
    >
      <Tabs label={t.tabList}>
        {TABS.map((name) => (
          <Tab
            key={name}
            to={`/templates/${stored.id}`}
            search={name === 'write' ? {} : { tab: name }}
            current={tab === name}
            onClick={(event) => {
              // the page stays, and with it what is not saved of the mail; a form of this part would go
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              if (name !== tab && mayClosePart()) setSearch({ tab: name });
            }}
          >
            {t.tabs[name]}
          </Tab>
        ))}
      </Tabs>
      {isOvertaken && (
        <Banner tone="warn" action={<Button onClick={() => adopt(stored)}>{t.showTheirs}</Button>}>
          {t.changedElsewhere}
        </Banner>
      )}
      {/* it stays while another part is open, so that undoing goes on */}
      <div hidden={tab !== 'write'}>
        <MailEditor
          key={revision}
          draft={draft}
          onChange={setDraft}
          type={stored.type}
          {...(stored.topicId ? { topicId: stored.topicId } : {})}
        />
      </div>
      {tab === 'settings' && <Unsaved>{(onDirty) => <SettingsPart stored={stored} onDirty={onDirty} />}</Unsaved>}
      {tab === 'versions' && (
        <VersionsPart
          stored={stored}
          source={templateVersions}
          isDirty={isDirty}
          onRestored={(restored) => {
            adopt(restored);
            knowTemplate(restored);
          }}
        />
      )}
      {tab === 'results' && <ResultsPart id={stored.id} />}
    </Page>
  );
}

/** What can be done with a template. While another part is open, saving what was written is not the main thing. */
function Actions({ stored, writing, isWriting }: { stored: Template; writing: Writing; isWriting: boolean }) {
  const [open, setOpen] = useState<'test' | 'delete'>();
  const { isDirty, isSaving, save, adopt } = writing;
  const duplicate = async () => {
    try {
      const copy = await call(api.POST('/templates/{id}/duplicate', { params: { path: { id: stored.id } } }));
      knowTemplate(copy);
      done(t.duplicated);
      go(`/templates/${copy.id}`);
    } catch (error) {
      failed(error);
    }
  };
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t.more}>
            <Icon of={MoreHorizontal} size={16} />
          </IconButton>
        }
        entries={[
          { text: t.duplicate, onSelect: () => void duplicate() },
          { text: t.discard, disabled: !isDirty, onSelect: () => adopt(stored) },
          'line',
          { text: t.delete, danger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      <Button onClick={() => setOpen('test')}>
        <Icon of={Send} size={14} />
        {t.test}
      </Button>
      {(isWriting || isDirty) && (
        <Button
          variant={isWriting ? 'primary' : 'default'}
          busy={isSaving}
          disabled={!isDirty}
          title={editor.saveKeys}
          onClick={() => void save()}
        >
          {isWriting ? t.save : t.saveMail}
        </Button>
      )}
      {open === 'test' && <TestDialog id={stored.id} save={save} onClose={() => setOpen(undefined)} />}
      {open === 'delete' && (
        <DeleteTemplate
          id={stored.id}
          name={stored.name}
          onClose={() => setOpen(undefined)}
          onDeleted={() => {
            dropGuards();
            go('/templates', { replace: true });
          }}
        />
      )}
    </>
  );
}
