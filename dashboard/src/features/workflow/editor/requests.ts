import { api, call } from '#/api/client';
import type { Operation, StepChange } from '../model/difference';
import type { Config, Port, Step } from '../model/graph';
import { AUTOMATIC } from '../model/layout';

/** The document says of configurations no more than that they are objects. */
const asBody = (config: Config) => config as Record<string, never>;

/** What a new step is. */
export type NewStep = Pick<Step, 'type' | 'name' | 'config' | 'templateId'> & { readonly position?: Step['position'] };

const bodyOf = (step: NewStep) => ({
  type: step.type,
  name: step.name,
  config: asBody(step.config),
  position: step.position ?? AUTOMATIC,
  ...(step.templateId === null ? {} : { templateId: step.templateId }),
});

/** Adds a step that nothing leads to, and gives its id. */
export async function addStep(id: string, step: NewStep): Promise<string> {
  const body = { ...bodyOf(step), autoConnect: false };
  return (await call(api.POST('/workflows/{id}/steps', { params: { path: { id } }, body }))).id;
}

/** Links two steps, and gives the id of the way. */
export async function addWay(id: string, way: { from: string; to: string; priority?: number } & Omit<Port, 'key'>): Promise<string> {
  const body = {
    fromStepId: way.from,
    toStepId: way.to,
    priority: way.priority ?? 0,
    ...(way.branch === null ? {} : { branch: way.branch }),
    ...(way.outcome === null ? {} : { waitOutcome: way.outcome }),
  };
  return (await call(api.POST('/workflows/{id}/transitions', { params: { path: { id } }, body }))).id;
}

/** Puts a step between two others, and gives its id. */
export async function insertStep(id: string, transitionId: string, step: NewStep): Promise<string> {
  const path = { id, transitionId };
  const answer = await call(api.POST('/workflows/{id}/transitions/{transitionId}/insert-step', { params: { path }, body: bodyOf(step) }));
  return answer.id;
}

/** Changes a step. */
export function changeStep(id: string, stepId: string, change: StepChange): Promise<unknown> {
  const { config, ...rest } = change;
  const body = { ...rest, ...(config === undefined ? {} : { config: asBody(config) }) };
  return call(api.PATCH('/workflows/{id}/steps/{stepId}', { params: { path: { id, stepId } }, body }));
}

/** Removes a step: with all that can be reached from it, or alone, so that what led to it leads on. */
export function removeStep(id: string, stepId: string, splice: boolean): Promise<unknown> {
  const query = splice ? { splice: true } : {};
  return call(api.DELETE('/workflows/{id}/steps/{stepId}', { params: { path: { id, stepId }, query } }));
}

/** Removes a way. */
export function removeWay(id: string, transitionId: string): Promise<unknown> {
  return call(api.DELETE('/workflows/{id}/transitions/{transitionId}', { params: { path: { id, transitionId } } }));
}

/** Makes operations one after the other. Gives the new ids of what was made again. */
export async function run(id: string, operations: readonly Operation[]): Promise<Map<string, string>> {
  const aliases = new Map<string, string>();
  const now = (old: string) => aliases.get(old) ?? old;
  for (const operation of operations) {
    switch (operation.does) {
      case 'removeWay':
        await removeWay(id, now(operation.id));
        break;
      case 'removeStep':
        await removeStep(id, now(operation.id), false);
        break;
      case 'addStep':
        aliases.set(operation.step.id, await addStep(id, operation.step));
        break;
      case 'changeStep':
        await changeStep(id, now(operation.id), operation.change);
        break;
      case 'addWay': {
        const { way } = operation;
        aliases.set(way.id, await addWay(id, { ...way, from: now(way.from), to: now(way.to) }));
        break;
      }
    }
  }
  return aliases;
}
