import { Button } from '#/ui/button';
import { Once } from '#/ui/once';
import { t } from './texts';

/** Recovery codes, shown once: to copy, or to keep as a file. */
export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const text = codes.join('\n');
  const save = () => {
    const url = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = 'mailwright-recovery-codes.txt';
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <Once
      title={t.codes}
      text={text}
      what={t.codes}
      actions={
        <>
          <Button size="small" onClick={save}>
            {t.download}
          </Button>
          <Button size="small" onClick={onDone}>
            {t.kept}
          </Button>
        </>
      }
    >
      {t.codesText}
    </Once>
  );
}
