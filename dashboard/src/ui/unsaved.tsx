import { Fragment, type ReactNode, useEffect, useState } from 'react';
import { useGuard } from '#/router';
import { Button } from './button';
import { Banner } from './status';
import { t } from './unsaved-texts';

/** The forms that are not saved and go with the part of the page that they are in. */
const unsaved = new Set<object>();

/** Asks before a part of the page is closed with a form in it that is not saved. Returns whether to go on. */
export function mayClosePart(): boolean {
  return unsaved.size === 0 || confirm(t.leave);
}

/**
 * The key of a form that begins anew when what is stored changes, though not while something in it is not saved.
 * `isOvertaken` says that this would discard it.
 */
export function useFormKey(stored: string, isDirty: boolean): { key: string; isOvertaken: boolean } {
  const [key, setKey] = useState(stored);
  if (key !== stored && !isDirty) setKey(stored);
  return { key, isOvertaken: key !== stored && isDirty };
}

/** Says that what a form shows was changed elsewhere, while something in it is not saved. */
export function Overtaken({ onDiscard }: { onDiscard: () => void }) {
  return (
    <Banner tone="warn" action={<Button onClick={onDiscard}>{t.showStored}</Button>}>
      {t.changedElsewhere}
    </Banner>
  );
}

/**
 * Keeps a form while something in it is not saved: whatever closes it asks before. `stored` is what the form shows of what
 * is stored. When that changes the form begins anew, but not before it is saved or given up.
 */
export function Unsaved({ stored = '', children }: { stored?: string; children: (onDirty: (isDirty: boolean) => void) => ReactNode }) {
  const [isDirty, setDirty] = useState(false);
  const { key, isOvertaken } = useFormKey(stored, isDirty);
  useGuard(isDirty, t.leave);
  useEffect(() => {
    if (!isDirty) return;
    const form = {};
    unsaved.add(form);
    return () => void unsaved.delete(form);
  }, [isDirty]);
  return (
    <>
      {isOvertaken && <Overtaken onDiscard={() => setDirty(false)} />}
      <Fragment key={key}>{children(setDirty)}</Fragment>
    </>
  );
}
