import { useState } from 'react';
import { serviceUrl } from '#/api/base';
import { currentProject } from '#/api/client';
import { classes } from '#/ui/classes';
import { Checkbox } from '#/ui/form';
import { t } from './texts';

/**
 * A mail as its reader sees it, in a frame that can do nothing: no scripts, no forms, no origin. `path` is that of the
 * mail's page in the API. Pictures from elsewhere tell their servers that somebody looks, so they wait for a click.
 */
export function MailFrame({ path, title = t.contentFrame, fill = false }: { path: string; title?: string; fill?: boolean }) {
  const [phone, setPhone] = useState(false);
  const [images, setImages] = useState(false);
  const query = new URLSearchParams({ projectId: currentProject(), ...(images ? { images: '1' } : {}) });
  return (
    <div className={classes('flex flex-col', fill && 'min-h-0 flex-1')}>
      <div className="flex flex-wrap gap-x-4 gap-y-1 border-b border-line px-4 py-1.5 text-meta text-muted">
        <Checkbox label={t.showImages} checked={images} onChange={(event) => setImages(event.target.checked)} />
        <Checkbox label={t.onPhone} checked={phone} onChange={(event) => setPhone(event.target.checked)} className="max-sm:hidden" />
      </div>
      <iframe
        title={title}
        src={serviceUrl(`${path}?${query.toString()}`)}
        sandbox=""
        // mails are made for white paper
        className={classes('w-full border-0 bg-white', fill ? 'min-h-96 flex-1' : 'h-[32rem]', phone && 'mx-auto max-w-[375px]')}
        style={{ colorScheme: 'light' }}
      />
    </div>
  );
}
