// Makes the pictures of the documentation: the real program, with four weeks of a made-up company, in Chromium.
// `MAILWRIGHT_TEST_SERVER` names the program, which must be built with debug assertions: weeks pass by moving its clock.
// Names of pictures choose.
import { mkdir, rm } from 'node:fs/promises';
import { closeBrowser } from '../browser/browser.ts';
import { captured } from './captured.ts';
import { FOLDER, MAILBOX, type Picture, pictures, take } from './pictures.ts';
import { type Story, story } from './story.ts';

const only = process.argv.slice(2);
const isWanted = (name: string) => only.length === 0 || only.includes(name);

/** Takes pictures of a service, and stops it. */
async function of<T extends Pick<Story, 'service' | 'time' | 'stop'>>(told: T, taken: (told: T) => readonly Picture[]): Promise<void> {
  try {
    for (const picture of taken(told)) if (isWanted(picture.name)) await take(told, picture);
  } finally {
    await closeBrowser();
    await told.stop();
  }
}

if (only.length === 0) await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
if (isWanted(MAILBOX.name)) await of(await captured(), () => [MAILBOX]);
if (only.some((name) => name !== MAILBOX.name) || only.length === 0) await of(await story(), ({ ids }) => pictures(ids));
