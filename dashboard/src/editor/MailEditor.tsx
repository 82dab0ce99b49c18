import { Code } from 'lucide';
import { Suspense, useState } from 'react';
import { oneOf, useSearchState } from '#/router';
import { lazyPart } from '#/router/lazy';
import { Button } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Confirm } from '#/ui/dialog';
import { Icon } from '#/ui/icon';
import { Skeleton } from '#/ui/skeleton';
import { Status, Tag } from '#/ui/status';
import { type MailType, type Report, useReport } from './check';
import type { EmailDocument } from './document.ts';
import type { Content, Draft } from './draft.ts';
import { writeMjml } from './mjml.ts';
import { t as problemTexts } from './problem-texts';
import { Problems } from './Problems';
import { t } from './texts';
import { VariableInput } from './variables/VariableInput';

const VisualEditor = lazyPart(() => import('./visual/VisualDoor'));
const CodeEditor = lazyPart(() => import('./code/CodeEditor'));
const PreviewPane = lazyPart(() => import('./preview/PreviewPane'));

/** Which part of the editor is open is in the address. */
const SEARCH = { view: oneOf(['edit', 'split', 'preview']) };

/**
 * Writes a mail: its subject, and its content in the visual editor or as code, with a preview and what was found. It holds
 * nothing: `draft` comes back changed by `onChange`. A draft that does not come from here (another version, another mail)
 * needs another `key`.
 */
export function MailEditor({ draft, onChange, type, topicId }: {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** The type of the template or campaign: it decides about the footer. */
  type: MailType;
  topicId?: string;
}) {
  const [{ view }, setSearch] = useSearchState(SEARCH);
  const { content } = draft;
  const report = useReport(draft, type, topicId).data;
  const [from, setFrom] = useState<EmailDocument>();
  const setContent = (to: Content) => onChange({ ...draft, content: to });
  const isCode = content.mode !== 'visual';
  const shown = view === 'split' && !isCode ? 'edit' : view;
  const canReturn = from !== undefined && content.mode === 'mjml' && content.mjml === writeMjml(from);
  const subjectProblem = report?.problems.find((problem) => problem.field === 'subject' && problem.severity === 'error');

  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3">
      <div className={classes('grid gap-3', !isCode && 'md:grid-cols-2')}>
        <VariableInput
          name="subject"
          label={t.subject}
          value={draft.subject}
          maxLength={998}
          placeholder={t.subjectPlaceholder}
          error={subjectProblem && problemTexts.words(subjectProblem)}
          onChange={(subject) => onChange({ ...draft, subject })}
        />
        {content.mode === 'visual' && (
          <VariableInput
            label={t.preview}
            value={content.document.preview}
            maxLength={200}
            placeholder={t.previewPlaceholder}
            onChange={(preview) => setContent({ mode: 'visual', document: { ...content.document, preview } })}
          />
        )}
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Views shown={shown} withSplit={isCode} onChange={(to) => setSearch({ view: to })} />
        <Tag>{t.modes[content.mode]}</Tag>
        <Summary report={report} />
        <span className="flex-1" />
        {content.mode === 'visual' && <ToCode onGo={() => {
          setFrom(content.document);
          setContent({ mode: 'mjml', mjml: writeMjml(content.document) });
        }} />}
        {canReturn && (
          <Button size="small" onClick={() => setContent({ mode: 'visual', document: from })}>
            {t.back}
          </Button>
        )}
      </div>
      <div className="flex min-h-0 flex-1 flex-col gap-3 lg:h-[calc(100dvh-19rem)] lg:min-h-[30rem] lg:flex-none lg:flex-row">
        <div className={classes('flex min-h-0 min-w-0 flex-1 flex-col', shown === 'preview' && 'hidden')}>
          <Suspense fallback={<Skeleton rows={8} />}>
            {content.mode === 'visual' ? (
              <VisualEditor
                document={content.document}
                onChange={(document) => setContent({ mode: 'visual', document })}
                onCode={() => setContent({ mode: 'mjml', mjml: writeMjml(content.document) })}
              />
            ) : (
              <CodeEditor
                key={content.mode}
                language={content.mode}
                value={content.mode === 'mjml' ? content.mjml : content.body}
                problems={report?.problems ?? []}
                onChange={(code) => setContent(content.mode === 'mjml' ? { mode: 'mjml', mjml: code } : { mode: 'html', body: code })}
              />
            )}
          </Suspense>
        </div>
        {shown !== 'edit' && (
          <Suspense fallback={<Skeleton rows={8} className="flex-1" />}>
            <PreviewPane draft={draft} type={type} report={report} />
          </Suspense>
        )}
      </div>
      {report && <Problems report={report} />}
    </div>
  );
}

function Views({ shown, withSplit, onChange }: { shown: string; withSplit: boolean; onChange: (view: 'edit' | 'split' | 'preview') => void }) {
  const views = [['edit', t.edit], ...(withSplit ? ([['split', t.split]] as const) : []), ['preview', t.show]] as const;
  return (
    <div role="group" aria-label={t.view} className="flex rounded-control border border-control bg-panel p-0.5">
      {views.map(([name, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={shown === name}
          onClick={() => onChange(name)}
          className={classes(
            'h-6 rounded px-2 text-meta font-medium pointer-coarse:h-10',
            shown === name ? 'bg-accent-soft text-accent' : 'text-muted hover:text-ink',
            name === 'split' && 'max-lg:hidden',
          )}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

function Summary({ report }: { report: Report | undefined }) {
  const errors = report?.problems.filter((problem) => problem.severity === 'error').length ?? 0;
  const hints = (report?.problems.length ?? 0) - errors;
  return (
    <span role="status" className="flex flex-wrap gap-3 text-meta">
      {!report ? (
        <span className="text-muted">{t.checking}</span>
      ) : (
        <>
          {errors > 0 && <Status tone="bad">{t.errors(errors)}</Status>}
          {hints > 0 && <Status tone="warn">{t.problems(hints)}</Status>}
          {errors + hints === 0 && <Status tone="good">{t.fine}</Status>}
        </>
      )}
    </span>
  );
}

function ToCode({ onGo }: { onGo: () => void }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button size="small" variant="ghost" onClick={() => setAsking(true)}>
        <Icon of={Code} size={14} />
        {t.toCode}
      </Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.toCodeTitle}
        action={t.toCodeAction}
        danger={false}
        onConfirm={() => Promise.resolve(onGo())}
      >
        <p>{t.toCodeText}</p>
      </Confirm>
    </>
  );
}
