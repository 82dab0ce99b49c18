import { useEffect, useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { Button } from '#/ui/button';
import { Form, SubmitButton } from '#/ui/form';
import { Section } from '#/ui/page';
import { Banner } from '#/ui/status';
import { done } from '#/ui/toast';
import { FilterBuilder } from './builder/FilterBuilder';
import { newGroup, read } from './builder/tree';
import { Preview } from './Preview';
import { type Segment, segment as storedSegment } from './queries';
import { t } from './texts';
import { useDraft } from './use-draft';

/** Edits who is in a dynamic segment. */
export function ConditionTab({ segment, onDirty }: { segment: Segment; onDirty: (isDirty: boolean) => void }) {
  const draft = useDraft(segment.condition);
  // the stored condition that this edit is meant to replace
  const [replaced, setReplaced] = useState(segment.condition);
  const [isElsewhere, setElsewhere] = useState(false);
  useEffect(() => onDirty(draft.isChanged), [draft.isChanged, onDirty]);
  const save = async () => {
    draft.mark();
    if (!draft.isComplete) return;
    try {
      const path = { id: segment.id };
      const stored = await queries.fetchQuery({ ...storedSegment(segment.id), staleTime: 0 });
      if (JSON.stringify(stored.condition) !== JSON.stringify(replaced)) {
        setReplaced(stored.condition);
        setElsewhere(true);
        return;
      }
      const saved = await call(api.PATCH('/segments/{id}', { params: { path }, body: { condition: draft.tree } }));
      setReplaced(saved.condition);
      setElsewhere(false);
      await call(api.POST('/segments/{id}/refresh', { params: { path } }));
      // what is read again is what was saved
      onDirty(false);
      await queries.invalidateQueries({ queryKey: projectKey('segments') });
      done(t.saved);
    } catch (error) {
      if (!draft.take(error)) throw error;
    }
  };
  const takeTheirs = () => {
    draft.set(replaced ? read(replaced) : newGroup());
    setElsewhere(false);
  };
  return (
    <Form onSubmit={save}>
      <Section title={t.condition} lead={t.conditionLead}>
        <FilterBuilder
          value={draft.group}
          onChange={draft.set}
          issues={draft.issues}
          marksEmpty={draft.marksEmpty}
          without={segment.id}
        />
        <h3 className="mt-4 mb-2 font-medium">{t.previewTitle}</h3>
        <Preview draft={draft} />
      </Section>
      {isElsewhere && (
        <Banner tone="warn" action={<Button onClick={takeTheirs}>{t.takeTheirs}</Button>}>
          {t.changedElsewhere}
        </Banner>
      )}
      {segment.trackMembership && draft.isChanged && <Banner tone="muted">{t.conditionChanged}</Banner>}
      <div className="flex justify-end">
        <SubmitButton disabled={!draft.isChanged}>{t.save}</SubmitButton>
      </div>
    </Form>
  );
}
