import { useCallback, useEffect, useRef, useState } from 'react';
import { type Draft, useDraft } from '#/features/segment/use-draft';
import { useGuard } from '#/router';
import { useDebounced } from '#/ui/debounced';
import { type Choice, readChoice, writeChoice } from './audience-choice';
import { type Campaign, save } from './queries';
import { t } from './texts';

/** How long somebody has to pause before what they chose is stored, in milliseconds. */
const PAUSE_MS = 500;

/** Whom a campaign goes to, while it is chosen. Every choice that is complete is stored by itself, and counted. */
export interface AudienceWriting {
  choice: Choice;
  choose: (change: Partial<Choice>) => void;
  /** The condition, where one is the base. */
  draft: Draft;
  /** Whether the campaign goes to what is chosen: it does not while a choice is incomplete, on its way, or refused. */
  state: 'stored' | 'waiting' | 'incomplete' | 'failed';
  error: unknown;
  retry: () => void;
}

/** Keeps the choice of an audience, and stores it when it is complete. */
export function useAudienceWriting(campaign: Campaign): AudienceWriting {
  const [choice, setChoice] = useState(() => readChoice(campaign));
  const draft = useDraft(choice.condition);
  const fields = writeChoice({ ...choice, condition: draft.isComplete ? draft.tree : undefined });
  const text = fields ? JSON.stringify(fields) : '';
  const [stored, setStored] = useState(text);
  const [failure, setFailure] = useState<{ text: string; error: unknown }>();
  const isSaving = useRef(false);
  const settled = useDebounced(text, PAUSE_MS);
  const { id } = campaign;

  const store = useCallback(
    async (what: string) => {
      if (isSaving.current) return;
      isSaving.current = true;
      try {
        await save(id, JSON.parse(what));
        setFailure(undefined);
        setStored(what);
      } catch (error) {
        setFailure({ text: what, error });
      } finally {
        isSaving.current = false;
      }
    },
    [id],
  );
  useEffect(() => {
    if (settled === '' || settled !== text || settled === stored || failure?.text === settled) return;
    void store(settled);
  }, [settled, text, stored, failure, store]);

  const state = text === '' ? 'incomplete' : text === stored ? 'stored' : failure?.text === text ? 'failed' : 'waiting';
  useGuard(state !== 'stored', t.leaveAudience);
  return {
    choice,
    choose: (change) => setChoice((before) => ({ ...before, ...change })),
    draft,
    state,
    error: state === 'failed' ? failure?.error : undefined,
    retry: () => void store(text),
  };
}
