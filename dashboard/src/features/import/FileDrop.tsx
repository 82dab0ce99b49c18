import { FileUp } from 'lucide';
import { useId, useState } from 'react';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { isCsv, MOST_BYTES } from './upload';
import { t } from './texts';

/** Takes a CSV file: chosen, or dropped. */
export function FileDrop({ onFile }: { onFile: (file: File) => void }) {
  const id = useId();
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const take = (file: File | null | undefined) => {
    if (!file) return;
    const wrong = !isCsv(file) ? t.notCsv : file.size > MOST_BYTES ? t.tooLarge : '';
    setProblem(wrong);
    if (!wrong) onFile(file);
  };
  return (
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files[0]);
      }}
      className={classes(
        'relative flex flex-col items-center gap-2 rounded-card border border-dashed p-8 text-center focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-accent',
        over ? 'border-accent bg-accent-soft' : 'border-control bg-panel',
      )}
    >
      <Icon of={FileUp} size={24} className="text-muted" />
      <label htmlFor={id} className="font-medium text-accent">
        {t.choose}
      </label>
      <p id={`${id}-hint`} className="max-w-prose text-muted">
        {t.drop}
      </p>
      <input
        id={id}
        type="file"
        accept=".csv,text/csv"
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          take(event.target.files?.[0]);
          // the same file can be chosen again
          event.target.value = '';
        }}
        className="absolute inset-0 cursor-pointer opacity-0"
      />
      {problem && (
        <p role="alert" className="font-medium text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}
