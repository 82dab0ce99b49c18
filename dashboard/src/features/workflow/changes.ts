import { api, call } from '#/api/client';
import { done, failed } from '#/ui/toast';
import { inTurns } from './model/turns';
import { refresh } from './queries';
import { t } from './texts';

interface Named {
  readonly id: string;
  readonly name: string;
}

const patch = (id: string, enabled: boolean) => call(api.PATCH('/workflows/{id}', { params: { path: { id } }, body: { enabled } }));

/** Enables or disables a workflow, and offers to undo it. */
export async function setEnabled({ id, name }: Named, enabled: boolean): Promise<void> {
  await patch(id, enabled);
  await refresh();
  done(enabled ? t.enabled(name) : t.disabledNow(name), () => {
    patch(id, !enabled).then(() => refresh(), failed);
  });
}

/** Enables or disables several workflows. */
export async function setAllEnabled(ids: readonly string[], enabled: boolean): Promise<void> {
  try {
    await inTurns(ids, (id) => patch(id, enabled));
    done(t.changedMany(ids.length));
  } finally {
    await refresh();
  }
}

/** Makes a disabled copy, and gives its id. */
export async function duplicate(id: string): Promise<string> {
  const copy = await call(api.POST('/workflows/{id}/duplicate', { params: { path: { id } } }));
  await refresh();
  done(t.duplicated);
  return copy.id;
}

/** Deletes a workflow. */
export async function remove(id: string): Promise<void> {
  await call(api.DELETE('/workflows/{id}', { params: { path: { id } } }));
  await refresh();
  done(t.deleted);
}

/** Deletes several workflows, all of them or none. */
export async function removeAll(ids: readonly string[]): Promise<void> {
  await call(api.POST('/workflows/bulk-update', { body: { ids: [...ids], delete: true } }));
  await refresh();
  done(t.deleted);
}
