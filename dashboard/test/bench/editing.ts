import type { Locator, Page } from 'playwright-core';
import { Visitor } from '../browser/browser.ts';
import { addFrames, record } from './recording.ts';
import type { Report } from './report.ts';
import type { Site } from './site.ts';

/** How many moves of the mouse a drag has. */
const MOVES = 120;

/** Measures how a workflow with many steps is edited. */
export async function editing(report: Report, { service, workflow }: Site): Promise<void> {
  const visitor = await Visitor.of(service);
  const { page } = visitor;
  await visitor.signIn(service.owner);
  await visitor.open(`workflows/${workflow}`);
  const canvas = page.getByRole('group', { name: 'Steps as a graph' });
  const steps = canvas.locator('[data-step]');
  await steps.first().waitFor();
  const add = async (what: string, act: () => Promise<void>, of: 'movement' | 'change' = 'movement') =>
    addFrames(report, 'workflow', what, await record(page, act), of);

  await add('drag at a readable size', () => drag(page, steps.nth(1)));
  await add('undo', () => undo(page), 'change');
  await add('zoom out by wheel', () => zoom(page, canvas, 60));
  await add('show all', async () => {
    await page.getByRole('button', { name: 'Show all' }).click();
    // from afar, steps are drawn without words
    await page.waitForFunction((most) => document.querySelectorAll('[data-step]:empty').length > most, 150);
  }, 'change');
  report.add({ case: 'workflow', what: 'steps in sight', value: await steps.count(), unit: 'elements' });
  await add('drag with all in sight', () => drag(page, steps.nth(1)));
  await add('undo with all in sight', () => undo(page), 'change');
  await add('pan with all in sight', () => pan(page, canvas));
  await steps.first().focus();
  await add('add a step with all in sight', async () => {
    await page.keyboard.press('a');
    await page.getByPlaceholder('Find a kind of step…').waitFor();
    await page.keyboard.type('Delay');
    await page.locator('[cmdk-item][data-selected=true]').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add the step' }).click();
    await page.getByRole('status').filter({ hasText: 'Saving' }).waitFor({ state: 'hidden' });
  }, 'change');
  await add('undo the step', () => undo(page), 'change');
  await visitor.context.close();
}

async function drag(page: Page, step: Locator): Promise<void> {
  const box = await step.boundingBox();
  if (!box) throw new Error('the step is not in sight');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let move = 1; move <= MOVES; move += 1) await page.mouse.move(x + Math.sin(move / 12) * 90, y + move / 2);
  await page.mouse.up();
}

/** Takes the last change back, and waits until the service has done so. */
async function undo(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: /^Undo/ });
  await page.waitForFunction(() => ![...document.querySelectorAll('[role=toolbar] [role=status]')].some((one) => one.textContent));
  await button.click();
  await page.waitForFunction(() => [...document.querySelectorAll('[role=toolbar] [role=status]')].some((one) => one.textContent));
  await page.waitForFunction(() => ![...document.querySelectorAll('[role=toolbar] [role=status]')].some((one) => one.textContent));
}

async function zoom(page: Page, canvas: Locator, turns: number): Promise<void> {
  await canvas.hover();
  await page.keyboard.down('Control');
  for (let turn = 0; turn < turns; turn += 1) await page.mouse.wheel(0, turn % 20 < 12 ? 40 : -40);
  await page.keyboard.up('Control');
}

async function pan(page: Page, canvas: Locator): Promise<void> {
  await canvas.hover();
  for (let turn = 0; turn < 120; turn += 1) await page.mouse.wheel(turn % 40 < 20 ? 12 : -12, turn % 60 < 30 ? 30 : -30);
}
