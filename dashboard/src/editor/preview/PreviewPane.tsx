import { Monitor, Smartphone, Type } from 'lucide';
import { useMemo, useState } from 'react';
import { currentProject } from '#/api/client';
import { bytes } from '#/i18n/format';
import { classes } from '#/ui/classes';
import { Checkbox, TextArea } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Progress } from '#/ui/progress';
import { Banner } from '#/ui/status';
import { type MailType, type Report, useSettled } from '../check';
import { type Draft, sourceOf } from '../draft.ts';
import { ContactChooser } from './ContactChooser';
import { PreviewFrame } from './PreviewFrame';
import { t } from './texts';

/** Beyond this, Gmail hides the rest of a mail. */
const CLIPPED_BEYOND = 102 * 1024;
const FORMS = [
  ['desktop', t.desktop, Monitor],
  ['mobile', t.mobile, Smartphone],
  ['text', t.text, Type],
] as const;

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** A mail as a contact will see it, while it is written. */
export default function PreviewPane({ draft, type, report }: { draft: Draft; type: MailType; report: Report | undefined }) {
  const [form, setForm] = useState<'desktop' | 'mobile' | 'text'>('desktop');
  const [dark, setDark] = useState(false);
  const [images, setImages] = useState(false);
  const [contact, setContact] = useState<{ id: string; email: string }>();
  const [data, setData] = useState('');
  const settled = useSettled(draft);
  const values = useSettled(data.trim());
  const isBroken = report?.problems.some((problem) => problem.code === 'invalid_mjml') ?? false;
  const wanted = useMemo(() => {
    const source: Record<string, string> = sourceOf(settled.content);
    return {
      projectId: currentProject(),
      subject: settled.subject,
      ...source,
      type,
      format: form === 'text' ? 'text' : 'html',
      ...(contact ? { contactId: contact.id } : {}),
      ...(images ? { images: '1' } : {}),
      ...(values && isObject(values) ? { data: values } : {}),
    };
  }, [settled, type, form, contact, images, values]);
  // what cannot be rendered is not asked for: the frame keeps what it shows
  const [shown, setShown] = useState(wanted);
  if (!isBroken && shown !== wanted) setShown(wanted);
  const source = Object.values(sourceOf(settled.content)).join('');
  const isDark = dark && form !== 'text';

  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col overflow-hidden rounded-card border border-line bg-panel">
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-1.5">
        <div role="group" aria-label={t.form} className="flex">
          {FORMS.map(([name, label, icon]) => (
            <button
              key={name}
              type="button"
              aria-pressed={form === name}
              aria-label={label}
              title={label}
              onClick={() => setForm(name)}
              className={classes(
                'flex size-7 items-center justify-center rounded-control pointer-coarse:size-11',
                form === name ? 'bg-accent-soft text-accent' : 'text-muted hover:bg-raised',
              )}
            >
              <Icon of={icon} size={15} />
            </button>
          ))}
        </div>
        <Checkbox label={t.dark} checked={dark} disabled={form === 'text'} onChange={(event) => setDark(event.target.checked)} />
        <Checkbox label={t.images} checked={images} onChange={(event) => setImages(event.target.checked)} />
        <div className="flex min-w-48 flex-1 items-center gap-2">
          <span aria-hidden className="text-muted">
            {t.as}
          </span>
          <ContactChooser contact={contact} onChange={setContact} />
        </div>
      </div>
      {isBroken && (
        <div className="p-2">
          <Banner tone="warn">{t.broken}</Banner>
        </div>
      )}
      {isDark && !source.includes('prefers-color-scheme') && <p className="px-3 py-1.5 text-meta text-muted">{t.darkHint}</p>}
      <div className={classes('flex min-h-96 flex-1 justify-center overflow-auto', isDark ? 'bg-black' : 'bg-raised')}>
        <PreviewFrame
          fields={shown}
          title={t.title}
          dark={isDark}
          className={classes('min-h-96 w-full', form === 'mobile' && 'max-w-[360px]', form === 'desktop' && 'max-w-[680px]')}
        />
      </div>
      <div className="space-y-2 border-t border-line p-2">
        {report && (
          <div className="flex items-center gap-3">
            <div className="flex-1">
              <Progress value={(report.size.bytes / CLIPPED_BEYOND) * 100} label={t.size} />
            </div>
            <span className="tabular text-meta text-muted">{t.sizeOf(bytes(report.size.bytes))}</span>
          </div>
        )}
        {report?.size.clipped && <p className="text-meta font-medium text-bad">{t.clipped}</p>}
        <details>
          <summary className="min-h-6 text-meta text-muted">{t.data}</summary>
          <TextArea
            label={t.data}
            hideLabel
            hint={t.dataHint}
            error={data.trim() && !isObject(data) ? t.dataWrong : undefined}
            rows={4}
            spellCheck={false}
            value={data}
            onChange={(event) => setData(event.target.value)}
            className="font-mono text-meta"
          />
        </details>
      </div>
    </div>
  );
}
