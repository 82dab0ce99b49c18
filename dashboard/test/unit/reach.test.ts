import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { onDoubt, reached } from '#/api/reach';

const original = globalThis.fetch;
let doubts = 0;
onDoubt(() => {
  doubts += 1;
});

afterEach(() => {
  globalThis.fetch = original;
  mock.timers.reset();
  doubts = 0;
});

/** Has the next requests answered so. */
function answers(body: BodyInit | null, headers: Record<string, string>, status = 200): void {
  globalThis.fetch = async () => new Response(body, { status, headers });
}

const request = (method: string): Request => new Request('http://service.test/segments', { method });
const OWN = { 'x-request-id': 'a', 'content-type': 'application/json' };
const PAGE = { 'content-type': 'text/html' };

test('an answer of the service is given as it is', async () => {
  answers('{"a":1}', OWN, 201);
  const answer = await reached(request('POST'));
  assert.deepEqual([answer.status, await answer.json()], [201, { a: 1 }]);
  answers(null, { 'x-request-id': 'a' }, 204);
  assert.equal((await reached(request('DELETE'))).status, 204);
  assert.equal(doubts, 0);
});

test('the page of something on the way is no answer: a write may have been done', async () => {
  answers('<h1>WiFi</h1>', PAGE);
  await assert.rejects(reached(request('POST')), { code: 'UNANSWERED' });
  await assert.rejects(reached(request('GET')), { code: 'OFFLINE' });
  assert.equal(doubts, 1);
});

test('an answer that cannot be read says nothing about a write', async () => {
  answers('{"a":', OWN);
  await assert.rejects(reached(request('PATCH')), { code: 'UNANSWERED' });
  assert.equal(doubts, 1);
});

test('what refuses a write on the way is told, and what refuses a read is no answer', async () => {
  answers('<h1>Too large</h1>', PAGE, 413);
  assert.equal((await reached(request('POST'))).status, 413);
  await assert.rejects(reached(request('GET')), { code: 'OFFLINE' });
  assert.equal(doubts, 0);
});

test('an answer that pauses for too long is given up, one that goes on is waited for', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const begin = (): Promise<{ answer: Promise<Response>; say: (text: string) => void; end: () => void }> =>
    new Promise((begun) => {
      globalThis.fetch = async (_, init) => {
        const body = new ReadableStream<Uint8Array>({
          start: (to) => {
            init?.signal?.addEventListener('abort', () => to.error(new DOMException('given up', 'AbortError')));
            begun({ answer, say: (text) => to.enqueue(new TextEncoder().encode(text)), end: () => to.close() });
          },
        });
        return new Response(body, { headers: OWN });
      };
      const answer = new Promise<Response>((resolve, reject) => {
        queueMicrotask(() => reached(request('GET')).then(resolve, reject));
      });
      answer.catch(() => undefined);
    });
  const passes = async (milliseconds: number) => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    mock.timers.tick(milliseconds);
  };

  const slow = await begin();
  for (const text of ['{"a"', ':', '1}']) {
    await passes(25_000);
    slow.say(text);
  }
  await passes(25_000);
  slow.end();
  assert.deepEqual(await (await slow.answer).json(), { a: 1 });

  const stalled = await begin();
  stalled.say('{"a"');
  await passes(31_000);
  await assert.rejects(stalled.answer, { code: 'OFFLINE' });
});
