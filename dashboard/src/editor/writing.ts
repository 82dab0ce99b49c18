import { useEffect, useRef, useState } from 'react';
import { useGuard } from '#/router';
import { done, failed } from '#/ui/toast';
import { changesOf, type Draft, draftOf, isSameDraft, type Stored } from './draft.ts';

/** What is stored of a template or a campaign, with the number of its version. */
export interface Versioned extends Stored {
  version: number;
}

/** The fields of a request that saves what changed. */
export type Changes = ReturnType<typeof changesOf>;

/** What is written of a template or a campaign, and what of it is saved. */
export interface Writing {
  draft: Draft;
  setDraft: (draft: Draft) => void;
  isDirty: boolean;
  isSaving: boolean;
  /** Whether somebody else saved another version while this one was changed. */
  isOvertaken: boolean;
  /** Saves; says whether it worked. */
  save: () => Promise<boolean>;
  /** Takes another version in the place of what is written. */
  adopt: (stored: Versioned) => void;
  /** Counts the drafts that came from elsewhere: the editor begins anew with each. */
  revision: number;
}

interface State {
  draft: Draft;
  base: Draft;
  /** What the service has, in its own words: the same again is no other mail. */
  served: Draft;
  version: number;
  revision: number;
}

const begin = (stored: Versioned, revision: number): State => {
  const draft = draftOf(stored);
  return { draft, base: draft, served: draft, version: stored.version, revision };
};

/**
 * Keeps what is written until it is saved, and the page while it is not. Ctrl or Cmd with S saves. `store` sends the
 * changes and answers with what is stored then.
 */
export function useWriting(
  stored: Versioned,
  store: (changes: Changes) => Promise<Versioned>,
  words: { saved: string; leave: string },
): Writing {
  const [state, setState] = useState(() => begin(stored, 0));
  const [isSaving, setSaving] = useState(false);
  const { draft, base, served, version } = state;
  const isDirty = !isSameDraft(base, draft);
  const isNewer = stored.version > version;
  if (isNewer && !isSaving) {
    // the number counts what is set beside the mail as well, such as its sender
    if (isSameDraft(served, draftOf(stored))) setState((now) => ({ ...now, version: stored.version }));
    else if (!isDirty) setState(begin(stored, state.revision + 1));
  }

  useGuard(isDirty, words.leave);

  const save = async () => {
    const changes = changesOf(base, draft);
    if (Object.keys(changes).length === 0) return true;
    setSaving(true);
    try {
      const saved = await store(changes);
      setState((now) => ({ ...now, base: draft, served: draftOf(saved), version: saved.version }));
      done(words.saved);
      return true;
    } catch (error) {
      failed(error);
      return false;
    } finally {
      setSaving(false);
    }
  };
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      void latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  return {
    draft,
    setDraft: (to) => setState((now) => ({ ...now, draft: to })),
    isDirty,
    isSaving,
    isOvertaken: isNewer && isDirty && !isSaving,
    save,
    adopt: (to) => setState((now) => begin(to, now.revision + 1)),
    revision: state.revision,
  };
}
