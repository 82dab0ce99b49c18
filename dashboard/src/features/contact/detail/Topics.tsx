import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { TextLink } from '#/ui/button';
import { Switch } from '#/ui/form';
import { Section } from '#/ui/page';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { done, failed } from '#/ui/toast';
import { topicsOf } from './queries';
import { t } from './texts';

type Standing = Schemas['TopicStanding'];

function hintOf(topic: Standing): string {
  const words = [topic.pending ? t.pendingTopic : topic.chosen ? t.chosen : t.byDefault, topic.visibility === 'PRIVATE' ? t.private : ''];
  return words.filter(Boolean).join(' · ');
}

/** What a contact gets marketing mail about. */
export function Topics({ contact }: { contact: string }) {
  const found = useQuery(topicsOf(contact));
  const set = async (topic: Standing, subscribed: boolean) => {
    try {
      const body = { topics: [{ id: topic.id, subscribed }] };
      const { data } = await call(api.PUT('/contacts/{id}/topics', { params: { path: { id: contact } }, body }));
      queries.setQueryData(topicsOf(contact).queryKey, data);
      void queries.invalidateQueries({ queryKey: projectKey('contacts', 'one', contact, 'consent') });
      done(subscribed ? t.joined(topic.name) : t.left(topic.name), () => void set(topic, !subscribed));
    } catch (error) {
      failed(error);
    }
  };
  return (
    <Section title={t.topics} lead={t.topicsLead}>
      {found.error && !found.data ? (
        <Problem error={found.error} onRetry={() => void found.refetch()} />
      ) : !found.data ? (
        <Skeleton />
      ) : found.data.length === 0 ? (
        <p className="text-muted">
          {t.noTopics}{' '}
          <TextLink to="/settings" search={{ tab: 'topics' }}>
            {t.makeTopics}
          </TextLink>
        </p>
      ) : (
        <div className="space-y-3">
          {found.data.map((topic) => (
            <Switch
              key={topic.id}
              label={topic.name}
              hint={hintOf(topic)}
              checked={topic.subscribed}
              onChange={(to) => void set(topic, to)}
            />
          ))}
        </div>
      )}
    </Section>
  );
}
