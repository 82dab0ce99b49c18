import { useEffect, useId, useRef, useState } from 'react';
import { serviceUrl } from '#/api/base';
import { classes } from '#/ui/classes';

/**
 * A form sends line ends as CR LF, which the reader of MJML does not take between its elements, nor spaces alone. There
 * they mean nothing; elsewhere a space means the same.
 */
function sendable(name: string, value: string): string {
  if (name !== 'mjml') return value;
  return value
    .replaceAll(/\s*\n\s*(?=<\/?mj)/g, '')
    .replaceAll(/(<\/?mj[^<>]*>)\s*\n\s*/g, '$1')
    .replaceAll(/\r?\n/g, ' ');
}

/**
 * A mail as the service renders it, in a frame that nothing can run in. A form is sent into the frame, because what is
 * not saved has no address. Each change has a frame of its own, shown when it is there: the page's history does not grow,
 * and nothing flickers.
 */
export function PreviewFrame({
  fields,
  title,
  dark = false,
  className,
}: {
  /** The fields of the form; the frame changes with them. */
  fields: Readonly<Record<string, string>>;
  title: string;
  dark?: boolean;
  className?: string;
}) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const sent = useRef(0);
  const key = JSON.stringify(fields);
  const [frames, setFrames] = useState({ shown: 0, wanted: 1, key });
  if (frames.key !== key) setFrames({ ...frames, wanted: frames.wanted + 1, key });
  const { shown, wanted } = frames;

  useEffect(() => {
    if (!form.current || sent.current === wanted) return;
    sent.current = wanted;
    form.current.target = `${id}-${wanted}`;
    form.current.submit();
  }, [id, wanted]);

  const numbers = shown === wanted || shown === 0 ? [wanted] : [shown, wanted];
  return (
    <div className={classes('relative', className)}>
      <form ref={form} method="post" action={serviceUrl('/preview')} hidden>
        {Object.entries(fields).map(([name, value]) => (
          <textarea key={name} name={name} value={sendable(name, value)} readOnly tabIndex={-1} aria-hidden />
        ))}
      </form>
      {numbers.map((number) => (
        <iframe
          key={number}
          name={`${id}-${number}`}
          title={title}
          sandbox=""
          aria-hidden={number !== wanted}
          onLoad={() => {
            if (sent.current === number) setFrames((now) => (now.wanted === number ? { ...now, shown: number } : now));
          }}
          style={{ colorScheme: dark ? 'dark' : 'light' }}
          className={classes(
            'absolute inset-0 size-full border-0',
            dark ? 'bg-black' : 'bg-white',
            numbers.length > 1 && number === wanted && 'opacity-0',
          )}
        />
      ))}
    </div>
  );
}
