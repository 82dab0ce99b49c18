// Serves dist/ below /app/ as the program does, with the same policy, and passes everything else on to a service that
// runs at MAILWRIGHT_SERVICE. For looking at a build, and for browser tests, without building the program. The base URL
// of that service must be the address of this server: MAILWRIGHT_BASE_URL=http://127.0.0.1:8090.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { extname } from 'node:path';

const port = Number(process.env.PORT ?? 8090);
const service = new URL(process.env.MAILWRIGHT_SERVICE ?? 'http://127.0.0.1:8080');
const dist = new URL('../dist/', import.meta.url);
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.html': 'text/html' };

async function page(response) {
  const nonce = randomBytes(16).toString('base64');
  const html = (await readFile(new URL('index.html', dist), 'utf8'))
    .replaceAll('__NONCE__', nonce)
    .replaceAll('__BASE__', '')
    .replaceAll('"./', '"/app/');
  // the same as in crates/dashboard
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
  });
  response.end(html);
}

createServer(async (incoming, response) => {
  const { pathname } = new URL(incoming.url, 'http://localhost');
  if (pathname === '/app') return response.writeHead(308, { location: '/app/' }).end();
  if (pathname.startsWith('/app/')) {
    const name = pathname.slice('/app/'.length);
    if (!extname(name)) return page(response);
    try {
      const body = await readFile(new URL(name, dist));
      return response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream' }).end(body);
    } catch {
      return response.writeHead(404).end();
    }
  }
  const passed = request(
    { host: service.hostname, port: service.port, method: incoming.method, path: incoming.url, headers: incoming.headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  passed.on('error', () => response.writeHead(502).end());
  response.on('close', () => passed.destroy());
  incoming.pipe(passed);
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/app/`));
