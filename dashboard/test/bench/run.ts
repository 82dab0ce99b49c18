// Measures the dashboard in Chromium, with the real program: how long pages take to open, how a million contacts
// scroll, how a workflow of 200 steps is edited. `MAILWRIGHT_TEST_SERVER` names the program; the one that is meant to be
// installed should be measured. `--only opening,contacts,workflow` chooses, `--quick` takes a tenth of the contacts,
// `--strict` ends with 1 when a bar is missed.
import { parseArgs } from 'node:util';
import { closeBrowser } from '../browser/browser.ts';
import { editing } from './editing.ts';
import { opening } from './opening.ts';
import { Report } from './report.ts';
import { scrolling } from './scrolling.ts';
import { site } from './site.ts';

const CASES = { opening, contacts: scrolling, workflow: editing };

const { values } = parseArgs({ options: { only: { type: 'string' }, quick: { type: 'boolean' }, strict: { type: 'boolean' } } });
const only = values.only?.split(',');
const report = new Report();
const measured = await site(values.quick ? 100_000 : 1_000_000, 200);
try {
  for (const [name, measure] of Object.entries(CASES)) {
    if (!only || only.includes(name)) await measure(report, measured);
  }
} finally {
  await closeBrowser();
  await measured.service.stop();
}
console.log(report.text());
if (values.strict && report.missed() > 0) process.exitCode = 1;
