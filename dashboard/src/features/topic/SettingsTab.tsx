import { useQuery } from '@tanstack/react-query';
import { ArrowDown, ArrowUp, Pencil, Plus, Trash2 } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { queries } from '#/api/query';
import { Button, IconButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Empty } from '#/ui/empty';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import { Skeleton } from '#/ui/skeleton';
import { Table } from '#/ui/table';
import { done, failed } from '#/ui/toast';
import { topics, type Topic } from './queries';
import { t } from './texts';
import { TopicForm } from './TopicForm';

/** Topics, in the order in which recipients see them. */
export default function TopicsTab() {
  const all = useQuery(topics());
  const [editing, setEditing] = useState<Topic | 'new'>();
  const [removing, setRemoving] = useState<Topic>();
  const add = (
    <Button variant="primary" onClick={() => setEditing('new')}>
      <Icon of={Plus} size={14} />
      {t.add}
    </Button>
  );
  if (all.error && !all.data) return <Problem error={all.error} onRetry={() => void all.refetch()} />;
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <p className="max-w-prose text-muted">{t.lead}</p>
        {all.data && all.data.length > 0 && add}
      </div>
      {!all.data ? (
        <Skeleton rows={4} />
      ) : all.data.length === 0 ? (
        <Empty title={t.empty} action={add}>
          {t.emptyText}
        </Empty>
      ) : (
        <Table
          label={t.topics}
          rows={all.data}
          rowKey={(topic) => topic.id}
          columns={[
            {
              name: t.name,
              cell: (topic) => (
                <div className="min-w-0">
                  <p className="font-medium break-words">{topic.name}</p>
                  {topic.description && <p className="text-meta break-words text-muted">{topic.description}</p>}
                </div>
              ),
            },
            { name: t.visibility, wideOnly: true, cell: (topic) => (topic.visibility === 'PUBLIC' ? t.public : t.private) },
            { name: t.byDefault, wideOnly: true, cell: (topic) => (topic.defaultSubscribed ? t.yes : t.no) },
            {
              name: t.actions,
              hideName: true,
              right: true,
              cell: (topic) => (
                <span className="inline-flex">
                  <Move topic={topic} all={all.data} by={-1} />
                  <Move topic={topic} all={all.data} by={1} />
                  <IconButton size="small" label={`${t.edit}: ${topic.name}`} onClick={() => setEditing(topic)}>
                    <Icon of={Pencil} size={14} />
                  </IconButton>
                  <IconButton size="small" label={`${t.remove}: ${topic.name}`} onClick={() => setRemoving(topic)}>
                    <Icon of={Trash2} size={14} />
                  </IconButton>
                </span>
              ),
            },
          ]}
        />
      )}
      {editing && <TopicForm topic={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {removing && (
        <Confirm
          open
          onClose={() => setRemoving(undefined)}
          title={t.removeTitle}
          action={t.remove}
          onConfirm={async () => {
            await call(api.DELETE('/topics/{id}', { params: { path: { id: removing.id } } }));
            await queries.invalidateQueries({ queryKey: topics().queryKey });
            done(t.removed);
          }}
        >
          <p>{t.removeText}</p>
        </Confirm>
      )}
    </div>
  );
}

/** Swaps a topic with its neighbour. */
function Move({ topic, all, by }: { topic: Topic; all: readonly Topic[]; by: -1 | 1 }) {
  const other = all[all.indexOf(topic) + by];
  const swap = async () => {
    if (!other) return;
    try {
      // positions can be equal: the list's own order is what is meant
      const order = all.map((one) => one.id);
      const [from, to] = [order.indexOf(topic.id), order.indexOf(other.id)];
      order[from] = other.id;
      order[to] = topic.id;
      for (const [position, id] of order.entries()) {
        const present = all.find((one) => one.id === id);
        if (present && present.position !== position) {
          await call(api.PATCH('/topics/{id}', { params: { path: { id } }, body: { position } }));
        }
      }
    } catch (error) {
      failed(error);
    }
    await queries.invalidateQueries({ queryKey: topics().queryKey });
  };
  return (
    <IconButton
      size="small"
      label={`${by < 0 ? t.up : t.down}: ${topic.name}`}
      disabled={!other}
      onClick={() => void swap()}
    >
      <Icon of={by < 0 ? ArrowUp : ArrowDown} size={14} />
    </IconButton>
  );
}
