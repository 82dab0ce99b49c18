import { useInfiniteQuery } from '@tanstack/react-query';
import { Upload } from 'lucide';
import { useRef, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey } from '#/api/query';
import { Button } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Dialog } from '#/ui/dialog';
import { Form, SubmitButton, TextField } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { t } from './texts';
import { type Picture, PICTURE_TYPES, picturesOf, upload } from './upload';

/** How many pictures are shown at a time. */
const EACH = 24;

/** A picture for a mail. */
export interface Chosen {
  src: string;
  alt: string;
  /** Pixels; 0 where it is not known. */
  width: number;
}

/** Chooses a picture of the project, uploads one, or takes an address, and asks what it says. */
export default function ImagePicker({
  src,
  alt,
  onPick,
  onClose,
}: {
  src: string;
  alt: string;
  onPick: (picture: Chosen) => void;
  onClose: () => void;
}) {
  const file = useRef<HTMLInputElement>(null);
  const [chosen, setChosen] = useState<{ src: string; width: number }>({ src, width: 0 });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const list = useInfiniteQuery({
    queryKey: projectKey('uploads'),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call(api.GET('/uploads', { params: { query: { limit: EACH, ...(pageParam ? { cursor: pageParam } : {}) } }, signal })),
    getNextPageParam: (page) => (page.hasMore && page.cursor ? page.cursor : undefined),
  });
  const pictures = list.data?.pages.flatMap((page) => page.data) ?? [];

  const take = async (given: File | undefined) => {
    if (!given) return;
    setBusy(true);
    setError(undefined);
    try {
      const picture = await upload(given);
      setChosen({ src: picture.url, width: picture.width });
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog open onClose={onClose} title={t.title} wide>
      <Form onSubmit={(data) => onPick({ ...chosen, alt: String(data.get('alt') ?? '') })}>
        {error !== undefined && <Problem error={error} />}
        <div
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void take(picturesOf(event.dataTransfer)[0]);
          }}
          className="flex flex-wrap items-center justify-center gap-2 rounded-card border border-dashed border-control p-4 text-muted"
        >
          <span>{t.drop}</span>
          <Button size="small" busy={busy} onClick={() => file.current?.click()}>
            <Icon of={Upload} size={14} />
            {t.upload}
          </Button>
          <span className="text-meta">{t.kinds}</span>
          <input
            ref={file}
            type="file"
            accept={PICTURE_TYPES}
            aria-label={t.upload}
            tabIndex={-1}
            className="sr-only"
            onChange={(event) => void take(event.target.files?.[0])}
          />
        </div>
        <fieldset>
          <legend className="mb-1 font-medium">{t.uploaded}</legend>
          {list.error ? (
            <Problem error={list.error} onRetry={() => void list.refetch()} />
          ) : list.isLoading ? (
            <Skeleton rows={3} />
          ) : pictures.length === 0 ? (
            <p className="text-muted">{t.none}</p>
          ) : (
            <div className="grid max-h-64 grid-cols-3 gap-2 overflow-y-auto p-1 sm:grid-cols-6">
              {pictures.map((picture) => (
                <Choice
                  key={picture.key}
                  picture={picture}
                  chosen={picture.url === chosen.src}
                  onChoose={() => setChosen({ src: picture.url, width: picture.width })}
                />
              ))}
            </div>
          )}
          {list.hasNextPage && (
            <Button size="small" className="mt-2" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              {t.more}
            </Button>
          )}
        </fieldset>
        <TextField
          label={t.address}
          hint={t.addressHint}
          value={chosen.src}
          onChange={(event) => setChosen({ src: event.target.value, width: 0 })}
          placeholder="https://"
        />
        <TextField name="alt" label={t.alt} hint={t.altHint} defaultValue={alt} maxLength={500} />
        <div className="flex justify-end">
          <SubmitButton disabled={chosen.src.trim() === '' || busy}>{t.use}</SubmitButton>
        </div>
      </Form>
    </Dialog>
  );
}

/** A picture to choose. One from another host is named only: this page shows none of those. */
function Choice({ picture, chosen, onChoose }: { picture: Picture; chosen: boolean; onChoose: () => void }) {
  const isOurs = picture.url.startsWith(`${location.origin}/`);
  return (
    <label
      title={`${picture.filename}, ${t.size(picture.width, picture.height)}`}
      className={classes(
        'relative flex aspect-square items-center justify-center overflow-hidden rounded-card border bg-raised',
        'has-focus-visible:outline-2 has-focus-visible:outline-accent',
        chosen ? 'border-accent ring-2 ring-accent' : 'border-line',
      )}
    >
      <input
        type="radio"
        name="picture"
        checked={chosen}
        onChange={onChoose}
        aria-label={`${picture.filename}, ${t.size(picture.width, picture.height)}`}
        className="absolute top-1 left-1 accent-(--accent)"
      />
      {isOurs ? (
        <img src={picture.url} alt="" loading="lazy" className="max-h-full max-w-full object-contain" />
      ) : (
        <span className="p-2 text-meta break-all text-muted">{picture.filename}</span>
      )}
    </label>
  );
}
