import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Service } from '../browser/service.ts';

const FIRST_NAMES = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Frances', 'Alan', 'Radia'];
const PLANS = ['free', 'team', 'business'];
/** Hosts of the addresses. */
const HOSTS = 53;
/** Lines of the file that are written at once. */
const LINES = 10_000;

/** The service with what is measured, and the session of its owner. */
export interface Site {
  service: Service;
  cookie: string;
  /** A workflow with many steps. */
  workflow: string;
}

/**
 * Starts the service with so many contacts, which the program imports from a file as anybody would, and a workflow with
 * so many steps. With `MAILWRIGHT_BENCH_DATA` the data is in that folder, and is used again if it is there already.
 */
export async function site(contacts: number, steps: number): Promise<Site> {
  const kept = process.env.MAILWRIGHT_BENCH_DATA;
  const service = await Service.start({ MAILWRIGHT_LOG: 'warn', ...(kept ? { MAILWRIGHT_DATA_DIR: kept } : {}) });
  try {
    return await filled(service, contacts, steps);
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function filled(service: Service, contacts: number, steps: number): Promise<Site> {
  const cookie = await service.cookie();
  const { total } = await service.api('GET', '/contacts?limit=1', { cookie });
  if (total < contacts) await fill(service, contacts);
  await calm(service, cookie);
  return { service, cookie, workflow: await tree(service, cookie, steps) };
}

async function fill(service: Service, count: number): Promise<void> {
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'mailwright-people-'));
  const file = join(folder, 'people.csv');
  await pipeline(Readable.from(people(count)), createWriteStream(file));
  service.command('import', ['--project', service.project.id, file]);
  await rm(folder, { recursive: true });
  console.error(`  imported ${count} contacts in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

function* people(count: number): Generator<string> {
  yield 'email,firstName,plan,score\n';
  for (let from = 0; from < count; from += LINES) {
    const lines = Array.from({ length: Math.min(LINES, count - from) }, (_, index) => {
      const number = from + index;
      const email = `user${String(number).padStart(7, '0')}@host${number % HOSTS}.example.com`;
      return `${email},${FIRST_NAMES[number % FIRST_NAMES.length]},${PLANS[number % PLANS.length]},${(number * 7919) % 100_000}\n`;
    });
    yield lines.join('');
  }
}

/** Waits until what the service does with new contacts in the background, such as the index for searching, is done. */
async function calm(service: Service, cookie: string): Promise<void> {
  const patient = Date.now() + 300_000;
  for (let before = service.processorMs(); Date.now() < patient; ) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const now = service.processorMs();
    if (now - before < 200) break;
    before = now;
  }
  // what is read first comes from the disk
  await service.api('GET', '/contacts?limit=100', { cookie });
}

/** Makes a workflow: conditions that lead to two waits each, and waits that lead to one step each. */
async function tree(service: Service, cookie: string, steps: number): Promise<string> {
  const { id } = await service.api('POST', '/workflows', { cookie, body: { name: 'Many steps', eventName: 'account.created' } });
  const add = async (type: string, name: string, config: object): Promise<string> =>
    (await service.api('POST', `/workflows/${id}/steps`, { cookie, body: { type, name, position: { x: 0, y: 0 }, config, autoConnect: false } })).id;
  let open: { from: string; branch?: string }[] = [{ from: (await service.api('GET', `/workflows/${id}`, { cookie })).steps[0].id }];
  // the trigger is a step as well
  for (let count = 1; count < steps; ) {
    const next: typeof open = [];
    for (const { from, branch } of open) {
      if (count >= steps) break;
      const isCondition = count % 3 === 1;
      const step = isCondition
        ? await add('CONDITION', `On a paid plan? (${count})`, { field: 'data.plan', operator: 'equals', value: 'team' })
        : await add('DELAY', `A day later (${count})`, { amount: 1, unit: 'days' });
      await service.api('POST', `/workflows/${id}/transitions`, { cookie, body: { fromStepId: from, toStepId: step, ...(branch ? { branch } : {}) } });
      if (isCondition) next.push({ from: step, branch: 'yes' }, { from: step, branch: 'no' });
      else next.push({ from: step });
      count += 1;
    }
    open = next;
  }
  return id;
}
