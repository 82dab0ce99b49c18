import assert from 'node:assert/strict';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import type { Person, Service } from './service.ts';

const CHROMIUM = process.env.MAILWRIGHT_TEST_CHROMIUM ?? '/usr/bin/chromium';
/** How long a page may take to come to what a test waits for (a busy machine), in milliseconds. */
const PATIENCE_MS = 30_000;
/** How often the Tab key is pressed at most to come somewhere. */
const MOST_TABS = 80;
/** The rules that axe checks. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Those that a theme decides about: the others find the same in both. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

let browser: Browser | undefined;

async function launched(): Promise<Browser> {
  browser ??= await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  return browser;
}

/** Ends the browser. Call it when the tests of a file are over. */
export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** Moves the focus by the Tab key until it is where a test wants it. */
export async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let steps = 0; steps < MOST_TABS; steps += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the focus never came there');
}

/** A person in front of a browser: a context of their own, and one page. */
export class Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #origin: string;
  /** What must not happen: errors in the console, violations of the policy, requests to elsewhere. */
  readonly #faults: string[] = [];
  #expected: RegExp[] = [];

  private constructor(page: Page, context: BrowserContext, origin: string) {
    this.page = page;
    this.context = context;
    this.#origin = origin;
  }

  /** Opens a browser for somebody new. */
  static async of(service: Service, options: { language?: string; width?: number; height?: number } = {}): Promise<Visitor> {
    const context = await (await launched()).newContext({
      baseURL: `${service.url}/app/`,
      locale: options.language ?? 'en-GB',
      timezoneId: 'Europe/Berlin',
      viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const visitor = new Visitor(await context.newPage(), context, service.url);
    visitor.#watch();
    return visitor;
  }

  #watch(): void {
    this.page.on('console', (message) => {
      if (message.type() === 'error') this.#faults.push(`console: ${message.text()} ${message.location().url}`);
    });
    this.page.on('pageerror', (error) => this.#faults.push(`error: ${error.stack ?? error.message}`));
    this.page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(this.#origin) && !url.startsWith('data:') && !url.startsWith('blob:')) {
        this.#faults.push(`a request to elsewhere: ${url}`);
      }
    });
  }

  /** A fault that a test provokes, such as the browser's own report of an answer with status 422. */
  expectFault(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  /** Fails when something happened that must not. */
  noFaults(): void {
    const faults = this.#faults.filter((fault) => !this.#expected.some((pattern) => pattern.test(fault)));
    this.#faults.length = 0;
    assert.deepEqual(faults, []);
  }

  /** Signs in through the page. */
  async signIn(person: Person): Promise<void> {
    await this.page.goto('auth/login');
    await this.page.getByLabel('E-mail address').fill(person.email);
    await this.page.getByLabel('Password', { exact: true }).fill(person.password);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
  }

  /** Opens a page of the dashboard: `contacts`, without a slash at the beginning. */
  async open(path: string): Promise<void> {
    await this.page.goto(path);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
  }

  /**
   * Checks the page as it is with axe, in both themes and at the width of 360 px, where nothing may be cut off at the
   * side. Frames with other people's mail are not ours to judge.
   */
  async accessible(name: string): Promise<void> {
    const before = this.page.viewportSize() ?? { width: 1280, height: 800 };
    const theme = await this.page.evaluate(() => document.documentElement.dataset.theme);
    const looks = [
      { theme: 'light', ...before },
      { theme: 'dark', ...before },
      { theme: 'dark', width: 360, height: 740 },
      { theme: 'light', width: 360, height: 740 },
    ];
    for (const look of looks) {
      await this.page.setViewportSize({ width: look.width, height: look.height });
      await this.page.evaluate((to) => {
        document.documentElement.dataset.theme = to;
      }, look.theme);
      // without frames there is nothing to gather from, so the mode without a page of its own is enough, and twice as fast
      const axe = new AxeBuilder({ page: this.page }).exclude('iframe').setLegacyMode(true);
      const found = await (look.theme === 'dark' ? axe.withRules(COLOUR_RULES) : axe.withTags(RULES)).analyze();
      const violations = found.violations.map(
        (violation) => `${violation.id}: ${violation.help}\n  ${violation.nodes.map((node) => `${node.html.slice(0, 200)} ${node.any.map((check) => check.message).join('; ')}`).join('\n  ')}`,
      );
      assert.deepEqual(violations, [], `${name}, ${look.theme}, ${look.width} px`);
      await this.#fits(name, look.width);
    }
    await this.page.setViewportSize(before);
    await this.page.evaluate((to) => {
      document.documentElement.dataset.theme = to ?? 'light';
    }, theme);
  }

  /** Checks that nothing is cut off at the side, for another state of a page that is known to be accessible. */
  async holds(name: string): Promise<void> {
    const before = this.page.viewportSize() ?? { width: 1280, height: 800 };
    await this.#fits(name, before.width);
    await this.page.setViewportSize({ width: 360, height: 740 });
    await this.#fits(name, 360);
    await this.page.setViewportSize(before);
  }

  async #fits(name: string, width: number): Promise<void> {
    const overflow = await this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(overflow <= 0, `${name} is ${overflow} px wider than ${width} px`);
  }

  async close(): Promise<void> {
    this.noFaults();
    await this.context.close();
  }
}
