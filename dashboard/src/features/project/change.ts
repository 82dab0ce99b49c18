import { api, call, type Schemas } from '#/api/client';
import { queries } from '#/api/query';
import { projects, type Project } from './queries';

/** Changes of a project's settings. */
export type ProjectChange = Schemas['ProjectChange'];

/** Changes settings of a project. The new ones are shown everywhere at once. */
export async function changeProject(id: string, body: ProjectChange): Promise<void> {
  const changed = await call(api.PATCH('/users/@me/projects/{id}', { params: { path: { id } }, body }));
  queries.setQueryData(projects.queryKey, (all) =>
    all?.map((one): Project => {
      if (one.id !== id) return one;
      // the answer does not say which role the person has
      const { role } = one;
      return role ? { ...changed, role } : changed;
    }),
  );
}

/** Takes a project that is gone out of the list. */
export function forgetProject(id: string): void {
  queries.setQueryData(projects.queryKey, (all) => all?.filter((one) => one.id !== id));
}
