// Puts what the program embeds into packed/: each file of dist/, and beside it the same compressed by gzip and Brotli.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);
const packed = new URL('../packed/', import.meta.url);
/** Files that compression makes no smaller. */
const COMPRESSED = /\.(png|webp|jpe?g|gif|woff2?)$/;

await rm(packed, { recursive: true, force: true });
await mkdir(packed);
const files = (await readdir(dist, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && !`${entry.parentPath}/${entry.name}`.includes('/.vite/'))
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice(dist.pathname.length).replace(/^\//, ''));
await Promise.all(
  files.map(async (name) => {
    const to = new URL(name, packed);
    await mkdir(new URL('./', to), { recursive: true });
    await cp(new URL(name, dist), to);
    // the service writes into the page, so it is not packed
    if (name === 'index.html' || COMPRESSED.test(name)) return;
    const raw = await readFile(to);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length };
    await writeFile(new URL(`${name}.br`, packed), await promisify(brotliCompress)(raw, { params }));
    await writeFile(new URL(`${name}.gz`, packed), await promisify(gzip)(raw, { level: 9 }));
  }),
);
console.log(`packed ${files.length} files`);
