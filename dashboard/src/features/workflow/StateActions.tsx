import { Ellipsis } from 'lucide';
import { useState } from 'react';
import { api, call } from '#/api/client';
import { go } from '#/router';
import { dropGuards } from '#/router/navigate';
import { Button, IconButton } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Checkbox } from '#/ui/form';
import { Icon } from '#/ui/icon';
import { Menu } from '#/ui/menu';
import { done, failed } from '#/ui/toast';
import { duplicate, remove, setEnabled } from './changes';
import { type Graph, stepAt } from './model/graph';
import type { Problem } from './model/problems';
import { refresh, type Workflow } from './queries';
import { t } from './texts';

/** What can be done with a workflow as a whole. */
export function StateActions({ workflow, graph, problems, active }: {
  workflow: Workflow;
  graph: Graph;
  problems: readonly Problem[];
  /** How many executions are under way. */
  active: number;
}) {
  const [asks, setAsks] = useState<'enable' | 'publish' | 'delete'>();
  const { id, name, enabled, isDraft } = workflow;
  const failing = problems.filter((problem) => problem.severity === 'fails');
  const close = () => setAsks(undefined);
  const enable = () => {
    if (failing.length > 0) setAsks('enable');
    else void setEnabled(workflow, true).catch(failed);
  };
  const publish = async (data: FormData) => {
    await call(api.POST('/workflows/{id}/publish', { params: { path: { id } } }));
    await refresh();
    done(t.published);
    if (data.get('move') === 'on') go(`/workflows/${id}`, { search: { tab: 'versions' } });
  };
  return (
    <>
      {enabled && isDraft && (
        <Button variant="primary" onClick={() => setAsks('publish')}>
          {t.publish}
        </Button>
      )}
      {enabled ? (
        <Button onClick={() => void setEnabled(workflow, false).catch(failed)}>{t.disable}</Button>
      ) : (
        <Button variant="primary" onClick={enable}>
          {t.enable}
        </Button>
      )}
      <Menu
        trigger={
          <IconButton label={t.actions(name)}>
            <Icon of={Ellipsis} size={16} />
          </IconButton>
        }
        entries={[
          { text: t.duplicate, onSelect: () => void duplicate(id).then((copy) => go(`/workflows/${copy}`), failed) },
          'line',
          { text: t.delete, danger: true, onSelect: () => setAsks('delete') },
        ]}
      />
      <Confirm
        open={asks === 'enable'}
        onClose={close}
        title={t.enableTitle(name)}
        action={t.enableAnyway}
        danger={false}
        onConfirm={() => setEnabled(workflow, true)}
      >
        <Failing graph={graph} problems={failing} />
      </Confirm>
      <Confirm
        open={asks === 'publish'}
        onClose={close}
        title={t.publishTitle((workflow.version ?? 0) + 1)}
        action={t.publish}
        danger={false}
        onConfirm={publish}
      >
        <p>{t.publishText}</p>
        {failing.length > 0 && <Failing graph={graph} problems={failing} />}
        {active > 0 && (
          <>
            <p>{t.publishUnderWay(active)}</p>
            <Checkbox name="move" label={t.publishMove} defaultChecked />
          </>
        )}
      </Confirm>
      <Confirm
        open={asks === 'delete'}
        onClose={close}
        title={t.deleteTitle(name)}
        action={t.delete}
        typed={name}
        onConfirm={async () => {
          await remove(id);
          dropGuards();
          go('/workflows');
        }}
      >
        <p>{t.deleteText}</p>
      </Confirm>
    </>
  );
}

function Failing({ graph, problems }: { graph: Graph; problems: readonly Problem[] }) {
  const names = [...new Set(problems.map((problem) => stepAt(graph, problem.step)?.name ?? ''))];
  return (
    <div>
      <p>{t.willFail}</p>
      <ul className="mt-1 list-disc pl-5 text-ink">
        {names.map((name) => (
          <li key={name} className="break-words">
            {name}
          </li>
        ))}
      </ul>
    </div>
  );
}
