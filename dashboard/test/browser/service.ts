import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = process.env.MAILWRIGHT_TEST_SERVER ?? new URL('../../../target/debug/mailwright', import.meta.url).pathname;
const PREVIEW = new URL('../../scripts/preview.mjs', import.meta.url).pathname;
/** How long the service may take to start (an unoptimised build on a busy machine), in milliseconds. */
const STARTS_MS = 120_000;
/** The environment of the tests without settings of the service: a test says all of them itself. */
const SURROUNDINGS = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MAILWRIGHT_')));

/** A person with an account. */
export interface Person {
  email: string;
  password: string;
}

/** A request to the API: as somebody who is signed in (`cookie`), or with a key. */
interface Options {
  body?: unknown;
  form?: FormData;
  cookie?: string;
  key?: string;
  project?: string;
}

/** What `bootstrap` makes: a person, a project, and its sender domain. */
export interface Beginning {
  owner: Person;
  project: string;
  domain: string;
}

const ACME: Beginning = { owner: { email: 'owner@acme.test', password: 'correct horse battery' }, project: 'Acme', domain: 'acme.test' };

/** A port of this machine that is free. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

/** Ends a process, and waits until it has. */
function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill();
  });
}

/**
 * The real service, with an embedded database of its own, and a project whose domain, `acme.test`, is verified. With
 * `MAILWRIGHT_TEST_PREVIEW=1` the dashboard comes from `dist/` rather than from the program, for those who work on it.
 */
export class Service {
  readonly url: string;
  readonly owner: Person;
  project = { id: '', name: '', secret: '', public: '' };
  readonly #folder: string;
  #children: ChildProcess[] = [];
  #program: ChildProcess | undefined;
  #env: Record<string, string>;

  private constructor(url: string, owner: Person, folder: string, env: Record<string, string>) {
    this.url = url;
    this.owner = owner;
    this.#folder = folder;
    this.#env = env;
  }

  /** Starts the service. `settings` are environment variables; without a beginning there is nobody, and no project. */
  static async start(settings: Record<string, string> = {}, beginning: Beginning | null = ACME): Promise<Service> {
    const folder = await mkdtemp(join(tmpdir(), 'mailwright-dashboard-'));
    const preview = process.env.MAILWRIGHT_TEST_PREVIEW === '1';
    const port = await freePort();
    const shown = preview ? await freePort() : port;
    const url = `http://127.0.0.1:${shown}`;
    const env = {
      MAILWRIGHT_DATA_DIR: join(folder, 'data'),
      MAILWRIGHT_LISTEN: `127.0.0.1:${port}`,
      MAILWRIGHT_BASE_URL: url,
      MAILWRIGHT_TRANSPORT: 'capture',
      MAILWRIGHT_RATE_LIMIT_PER_MINUTE: '0',
      MAILWRIGHT_DOMAINS_KEY_TYPE: 'ed25519',
      MAILWRIGHT_DRAIN_MS: '0',
      ...settings,
    };
    const service = new Service(url, beginning?.owner ?? ACME.owner, folder, env);
    if (beginning) service.#bootstrap(beginning);
    service.#program = service.#run(PROGRAM, ['serve'], env);
    if (preview) {
      const passed = { PORT: String(shown), MAILWRIGHT_SERVICE: `http://127.0.0.1:${port}` };
      service.#run(process.execPath, [PREVIEW], passed);
    }
    await service.#ready();
    return service;
  }

  async #ready(): Promise<void> {
    const until = Date.now() + STARTS_MS;
    while (!(await fetch(`${this.url}/ready`).then((answer) => answer.ok, () => false))) {
      if (Date.now() > until) throw new Error(`the service did not start: ${await this.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #bootstrap({ owner, project, domain }: Beginning): void {
    const made = this.command('bootstrap', [
      '--email', owner.email, '--password', owner.password, '--project', project, '--domain', domain,
    ]);
    const find = (pattern: RegExp) => pattern.exec(made)?.[0] ?? '';
    this.project = { id: find(/[0-9a-f]{8}-[0-9a-f-]{27}/), name: project, secret: find(/sk_\w+/), public: find(/pk_\w+/) };
  }

  #run(program: string, args: string[], env: Record<string, string>): ChildProcess {
    const log = openSync(join(this.#folder, 'log'), 'a');
    const child = spawn(program, args, { env: { ...SURROUNDINGS, ...env }, stdio: ['ignore', log, log] });
    this.#children.push(child);
    return child;
  }

  /** Stops the program, does something meanwhile, and starts it again, with further settings. */
  async restart(settings: Record<string, string> = {}, meanwhile: () => void = () => undefined): Promise<void> {
    const program = this.#program;
    if (program) await ended(program);
    meanwhile();
    this.#env = { ...this.#env, ...settings };
    this.#program = this.#run(PROGRAM, ['serve'], this.#env);
    await this.#ready();
  }

  /** Makes a backup, and puts it back, as after the loss of a machine. */
  async loseAndRestore(): Promise<void> {
    const backup = join(this.#folder, 'backup');
    this.command('backup', ['--to', backup]);
    await this.restart({}, () => this.command('restore', ['--from', backup, '--move-aside']));
  }

  /** Runs a command of the program on the service's database, and gives what it prints. */
  command(name: string, args: string[]): string {
    return execFileSync(PROGRAM, [name, ...args], { env: { ...SURROUNDINGS, ...this.#env }, encoding: 'utf8' });
  }

  /** How much processor time the service has taken, in milliseconds. */
  processorMs(): number {
    const fields = readFileSync(`/proc/${this.#children[0]?.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    // in hundredths of a second, of the program and of the system for it
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** What the service has logged. */
  log(): Promise<string> {
    return readFile(join(this.#folder, 'log'), 'utf8');
  }

  /** Asks the API, and gives the answer's JSON. A refusal throws. Without `cookie` or `key`: the project's secret key. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at what they asked for
  async api(method: string, path: string, options: Options = {}): Promise<any> {
    const headers: Record<string, string> = {};
    if (options.cookie) {
      headers.cookie = options.cookie;
      headers['x-project-id'] = options.project ?? this.project.id;
    } else {
      headers.authorization = `Bearer ${options.key ?? this.project.secret}`;
    }
    if (options.body !== undefined) headers['content-type'] = 'application/json';
    const body = options.form ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const answer = await fetch(`${this.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Signs somebody in, and gives their cookie. */
  async cookie(person: Person = this.owner): Promise<string> {
    const answer = await fetch(`${this.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(person),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; ');
  }

  /** Waits until something holds; `what` is said when it does not. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + STARTS_MS;
    while (!(await holds())) {
      if (Date.now() > end) throw new Error(`it never came to be: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map(ended));
    await rm(this.#folder, { recursive: true, force: true });
  }
}
