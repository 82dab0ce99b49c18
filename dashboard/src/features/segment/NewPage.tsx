import { useState } from 'react';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { go, useGuard, json, oneOf, useSearchState } from '#/router';
import { Form, SubmitButton, textOf } from '#/ui/form';
import { Page, Section } from '#/ui/page';
import { TextLink } from '#/ui/button';
import { done } from '#/ui/toast';
import { FilterBuilder } from './builder/FilterBuilder';
import { isTree } from './builder/tree';
import { DetailsFields } from './DetailsFields';
import { Preview } from './Preview';
import { t } from './texts';
import { TypeChoice } from './TypeChoice';
import { useDraft } from './use-draft';

/** `condition` is what the segment begins with, such as the filter of the list of contacts. */
const SEARCH = { type: oneOf(['DYNAMIC', 'STATIC']), condition: json(isTree) };

/** Creates a segment: a condition with a name, or a list. */
export default function NewPage() {
  const [{ type, condition }, setSearch] = useSearchState(SEARCH);
  const draft = useDraft(condition);
  const [guarded, setGuarded] = useState(true);
  const keeps = guarded && draft.isChanged && draft.isComplete && type === 'DYNAMIC';
  useGuard(keeps, t.leave);

  const create = async (data: FormData) => {
    draft.mark();
    if (type === 'DYNAMIC' && !draft.isComplete) return;
    const details = { name: textOf(data, 'name') ?? '', description: textOf(data, 'description') ?? null };
    const body =
      type === 'STATIC'
        ? { ...details, type: 'STATIC' as const }
        : { ...details, condition: draft.tree, trackMembership: data.get('trackMembership') === 'on' };
    try {
      const made = await call(api.POST('/segments', { body }));
      setGuarded(false);
      await queries.invalidateQueries({ queryKey: projectKey('segments') });
      done(t.created(made.name));
      // the guard goes with the next painting
      setTimeout(() => go(`/segments/${made.id}`, { replace: true }));
    } catch (error) {
      if (!draft.take(error)) throw error;
    }
  };
  return (
    <Page title={t.create} above={<TextLink to="/segments">{t.back}</TextLink>}>
      <Form onSubmit={create} className="space-y-6!">
        <Section title={t.details}>
          <div className="space-y-4">
            <TypeChoice value={type} onChange={(to) => setSearch({ type: to })} />
            <DetailsFields mayTrack={type === 'DYNAMIC'} autoFocus />
          </div>
        </Section>
        {type === 'DYNAMIC' && (
          <Section title={t.condition} lead={t.conditionLead}>
            <FilterBuilder value={draft.group} onChange={draft.set} issues={draft.issues} marksEmpty={draft.marksEmpty} />
            <h3 className="mt-4 mb-2 font-medium">{t.previewTitle}</h3>
            <Preview draft={draft} />
          </Section>
        )}
        <div className="flex justify-end">
          <SubmitButton>{t.submit}</SubmitButton>
        </div>
      </Form>
    </Page>
  );
}
