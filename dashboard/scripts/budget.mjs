// Fails the build when what a page loads grows beyond its budget. Sizes are of gzip -9, JavaScript and CSS together, and
// count everything that a chunk imports at once; what is loaded when it is opened (editors, charts) is listed apart.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

const KB = 1024;
/** What everybody loads: the entry and the frame of a signed-in page. */
const SHELL = 120 * KB;
/** Everything until the first page can be used. */
const FIRST_PAGE = 250 * KB;
/** What a route adds to the shell. */
const ROUTE = 200 * KB;

const dist = new URL('../dist/', import.meta.url);
const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));
const sizes = new Map();

async function size(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(await readFile(new URL(file, dist)), { level: 9 }).length);
  return sizes.get(file);
}

/** The files that come with these chunks, without what is imported only when it is needed. */
function closure(keys) {
  const files = new Set();
  const seen = new Set();
  const visit = (key) => {
    const chunk = manifest[key];
    if (!chunk || seen.has(key)) return;
    seen.add(key);
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const next of chunk.imports ?? []) visit(next);
  };
  keys.forEach(visit);
  return files;
}

async function total(files) {
  let sum = 0;
  for (const file of files) sum += await size(file);
  return sum;
}

const isPage = (key) => key.startsWith('src/features/') && manifest[key].isDynamicEntry;
const entry = 'index.html';
const shell = closure([entry]);
const shellSize = await total(shell);
const failures = [];
const show = (bytes) => `${(bytes / KB).toFixed(1)} KB`;
const judge = (name, bytes, limit) => {
  if (bytes > limit) failures.push(`${name} has ${show(bytes)}, more than ${show(limit)}`);
};

console.log(`shell ${show(shellSize)} of ${show(SHELL)}`);
judge('the shell', shellSize, SHELL);
for (const key of Object.keys(manifest).filter(isPage).toSorted()) {
  const files = closure([entry, key]);
  const all = await total(files);
  const name = key.replace('src/features/', '');
  console.log(`  ${name}: +${show(all - shellSize)}, ${show(all)} in all`);
  judge(name, all - shellSize, ROUTE);
  judge(`the first page at ${name}`, all, FIRST_PAGE);
}
if (failures.length > 0) {
  console.error(failures.join('\n'));
  process.exit(1);
}
