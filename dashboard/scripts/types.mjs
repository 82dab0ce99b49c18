// Writes src/api/schema.d.ts from the API's document. It is made anew for every check and build, and not committed, so it
// cannot be another one's.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const target = new URL('../src/api/schema.d.ts', import.meta.url);
const document = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
const text = `// Generated from docs/openapi.json by \`npm run types\`. Do not edit.\n\n${astToString(await openapiTS(document))}`;
// an unchanged file keeps its date
if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text);
