import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { createTransport, type SendOptions, type Transport } from '../../../src/api/transport.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { closeAfterTest } from '../../support/after-test.js';
import { answer, type Handler, json, rawServer, transportOf } from '../../support/api/raw-server.js';
import { failureOf } from '../../support/failure-of.js';

const KEY = 'canary-7f3a9c-key';
const MIB = 1_048_576;

async function service(...how: Parameters<typeof transportOf>) {
  const { server, transport } = await transportOf(...how);
  /** Sends one call, which must fail; returns the failure. */
  return { server, transport, failed: (options?: SendOptions) => failed(transport, options) };
}

/** Waits for this many turns of Node's event loop, so that a request is written. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function failed(transport: Transport, options: SendOptions = {}): Promise<ApiError> {
  const error = await failureOf(transport.send(contentsEndpoint, { urls: ['https://a.example/1'] }, options));
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
  for (const text of [
    error.message,
    inspect(error, { depth: 9, showHidden: true }),
    JSON.stringify(error),
    error.stack ?? '',
  ]) {
    if (text.includes(KEY)) throw new Error('the key is in the error');
  }
  return error;
}

const replying =
  (bytes: Buffer | string): Handler =>
  (_request, socket) =>
    socket.write(bytes);

const closing =
  (bytes: Buffer | string): Handler =>
  (_request, socket) =>
    socket.end(bytes);

const ok = { results: [] };
const whole = JSON.stringify({ results: [{ title: 'paid for' }] });

describe('fault 1: 429', () => {
  test('reports tag, message, request id and wait, and blocks the team', async () => {
    const body = { requestId: 'req_9', error: 'Too\nmany\u001b[31m calls', tag: 'RATE_LIMIT_EXCEEDED' };
    const { failed } = await service(replying(json(429, body, { 'retry-after': '3' })));
    const error = await failed();
    expect(error.message).toBe(
      'POST /contents: 429 Too Many Requests (RATE_LIMIT_EXCEEDED): Too many [31m calls (request id req_9, retry in 3 s)',
    );
    expect(error.facts).toEqual({ phase: 'answer', status: 429, tag: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 3000 });
    expect(error.verdict).toEqual({ type: 'RateLimited', retry: true, charged: 'never', blocks: true });
  });

  test('keeps its meaning when its body breaks off, is damaged or never ends', async () => {
    const head = 'HTTP/1.1 429 Slow\r\nretry-after: 2\r\n';
    const kinds: [string, Handler][] = [
      ['cut', closing(`${head}content-length: 99\r\n\r\n{"err`)],
      ['damaged', replying(answer(429, 'no gzip', { 'content-encoding': 'gzip', 'retry-after': '2' }))],
      ['stalled', replying(`${head}content-length: 99\r\n\r\n{"err`)],
      ['endless', replying(`${head}content-length: ${9 * MIB}\r\n\r\n${'x'.repeat(2 * MIB)}`)],
    ];
    for (const [kind, handler] of kinds) {
      const { failed } = await service(handler, { timeouts: { bodyMs: 50 } });
      expect((await failed()).verdict, kind).toMatchObject({ type: 'RateLimited', charged: 'never' });
    }
  });
});

test.each<[string, Handler]>([
  ['closed', (_request, socket) => socket.end()],
  ['reset', (_request, socket) => socket.resetAndDestroy()],
  ['no HTTP', replying('SSH-2.0-OpenSSH\r\n\r\n')],
  ['half a head', closing('HTTP/1.1 200 OK\r\ncontent-le')],
  ['two lengths', replying('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')],
])('fault 5: the answer is lost after the request was read %s: sent, perhaps charged', async (_name, handler) => {
  const { failed } = await service(handler);
  const error = await failed();
  expect(error.facts).toEqual({ phase: 'sent', status: null, tag: null, retryAfterMs: null });
  expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'maybe' });
});

describe('fault 6: reset before the request was read', () => {
  test('a request that was written counts as sent, because the server may have read it', async () => {
    const server = createServer({ pauseOnConnect: true });
    const arrival = once(server, 'connection') as Promise<[Socket]>;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closeAfterTest({ close: () => new Promise<void>((resolve) => server.close(() => resolve())) });
    const { port } = server.address() as AddressInfo;
    const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}`, apiKey: null });
    closeAfterTest(transport);
    const call = failed(transport);
    const [socket] = await arrival;
    await turns(5);
    socket.resetAndDestroy();
    const error = await call;
    expect(socket.bytesRead).toBe(0);
    expect(error.facts).toMatchObject({ phase: 'sent', status: null });
    expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'maybe' });
  });

  test('a connection refused or reset before the request was written was never sent', async () => {
    const { server, failed } = await service(() => undefined);
    server.onConnection((socket) => socket.resetAndDestroy());
    const error = await failed();
    if (error.facts.phase === 'connect') expect(error.verdict.charged).toBe('never');
    else expect(error.facts.phase).toBe('sent');
    expect(server.requests).toHaveLength(0);
  });
});

describe('fault 7: a slow answer times out', () => {
  test('when its headers never come', async () => {
    const { failed } = await service(() => undefined, { timeouts: { headersMs: 50 } });
    const error = await failed();
    expect(error.message).toBe('POST /contents: no answer began within 0.05 s');
    expect(error.facts.phase).toBe('sent');
  });

  test('when its body stalls half-way, which is kept', async () => {
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\nx-request-id: r1\r\n\r\n`;
    const { failed } = await service(replying(head + whole.slice(0, 20)), { timeouts: { bodyMs: 50 } });
    const error = await failed();
    expect(error.message).toBe('POST /contents: 200 OK: the answer stalled for 0.05 s (request id r1)');
    expect(error.facts).toMatchObject({ phase: 'sent', status: 200, truncated: true });
    expect(error.body).toBe(whole.slice(0, 20));
  });

  test('when its body drips', async () => {
    const drip: Handler = (_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${9 * MIB}\r\n\r\n{`);
      const timer = setInterval(() => socket.write(' '), 10);
      socket.on('close', () => clearInterval(timer));
    };
    const { failed } = await service(drip, { timeouts: { bodyMs: 1000, totalMs: 80 } });
    const error = await failed();
    expect(error.message).toContain('no complete answer within 0.08 s');
    expect(error.verdict.charged).toBe('maybe');
  });
});

describe('fault 8: truncated answers', () => {
  const head = 'HTTP/1.1 200 OK\r\n';
  test.each<[string, Handler]>([
    ['a Content-Length that is too long', closing(`${head}content-length: 99\r\n\r\n${whole}`)],
    [
      'a missing last chunk',
      closing(`${head}transfer-encoding: chunked\r\n\r\n${whole.length.toString(16)}\r\n${whole}\r\n`),
    ],
    ['a broken chunk', replying(`${head}transfer-encoding: chunked\r\n\r\nzz\r\n${whole}\r\n0\r\n\r\n`)],
    ['a truncated body without a length', closing(`${head}connection: close\r\n\r\n${whole.slice(0, -5)}`)],
    ['an empty body without a length', closing(`${head}connection: close\r\n\r\n`)],
    ['half an answer, well framed by a proxy', replying(answer(200, whole.slice(0, -5)))],
    ['half an answer that ends in a brace', replying(answer(200, '{"results":[{}'))],
    ['half of a gzip', replying(answer(200, gzipSync(whole).subarray(0, 30), { 'content-encoding': 'gzip' }))],
    ['a damaged br', replying(answer(200, 'no brotli at all', { 'content-encoding': 'br' }))],
  ])('%s: perhaps charged, to be retried', async (_name, handler) => {
    const { failed } = await service(handler);
    const error = await failed();
    expect(error.facts).toMatchObject({ phase: 'sent', status: 200, truncated: true });
    expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'maybe' });
  });

  test('a Content-Length that is too short leaves no byte to the next call', async () => {
    const short = answer(200, whole, { 'content-length': String(whole.length - 2) });
    const { transport, failed } = await service((_request, socket, nth) => {
      socket.write(nth === 1 ? short : json(200, ok));
    });
    expect((await failed()).facts.truncated).toBe(true);
    expect((await transport.send(contentsEndpoint, { urls: ['https://a.example'] })).data).toEqual(ok);
  });
});

describe('fault 9: a complete answer that does not match the interface', () => {
  test.each<[string, string]>([
    ['HTML', '<!doctype html><title>Hello</title>'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['text that looks like JSON', '{"results": NaN}'],
    ['only the id of a request', '{"requestId":"r","message":"down for maintenance"}'],
    ['half an answer', '{"results":['],
  ])('%s does not come from the service, and is kept', async (_name, body) => {
    const { failed } = await service(replying(answer(200, body)));
    const error = await failed();
    expect(error.facts).toMatchObject({ status: 200, unrecognized: true });
    expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'maybe' });
    expect(error.body).toBe(body);
    expect(JSON.stringify(error) + inspect(error)).not.toContain('doctype');
  });

  test('no more than 1 MB of it is kept, without the key', async () => {
    const { failed } = await service(replying(answer(200, `"${KEY}"`.padEnd(3 * MIB, ' '))));
    const { body } = await failed();
    expect(body?.slice(0, 12)).toBe('"[redacted]"');
    expect(body?.length).toBeLessThanOrEqual(MIB);
  });
});

describe('fault 10: oversized answers', () => {
  const big = Buffer.alloc(20 * MIB, ' ');
  const endless: Handler = (_request, socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const piece = `100000\r\n${' '.repeat(MIB)}\r\n`;
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
  test.each<[string, Handler]>([
    ['a body that never ends', endless],
    ['a length that is too large', replying(`HTTP/1.1 200 OK\r\ncontent-length: ${1024 * MIB}\r\n\r\n{`)],
    ['gzip 1000:1', replying(answer(200, gzipSync(big), { 'content-encoding': 'gzip' }))],
    ['br 1000:1', replying(answer(200, brotliCompressSync(big), { 'content-encoding': 'br' }))],
    ['gzip in gzip', replying(answer(200, gzipSync(gzipSync(whole)), { 'content-encoding': 'gzip, gzip' }))],
    ['100 encodings', replying(answer(200, whole, { 'content-encoding': Array(100).fill('gzip').join(',') }))],
    ['an unrequested encoding', replying(answer(200, whole, { 'content-encoding': 'zstd' }))],
  ])('%s is refused', async (_name, handler) => {
    const { failed } = await service(handler, { maxBodyBytes: 2 * MIB });
    const error = await failed();
    expect(error.verdict).toMatchObject({ type: 'ResponseShape', retry: false });
    expect(error.body?.length ?? 0).toBeLessThanOrEqual(MIB);
  });

  test('reports the maximum size and the remedy', async () => {
    const { failed } = await service(endless, { maxBodyBytes: 2 * MIB });
    expect((await failed()).message).toContain('larger than 2 MiB; request fewer pages');
  });
});

describe('fault 11: redirects', () => {
  test.each([301, 302, 303, 307, 308])(
    '%d to another host is not followed, and the key is not sent there',
    async (status) => {
      const other = await rawServer(replying(json(200, ok)));
      closeAfterTest(other);
      const location = `http://localhost:${other.port}/contents?secret=1`;
      const { failed } = await service(replying(answer(status, '', { location })));
      const error = await failed();
      expect(error.message).toContain(`a redirect to host localhost:${other.port} was not followed; set baseUrl`);
      expect(error.message).not.toContain('secret');
      expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'never' });
      expect(other.connections()).toBe(0);
    },
  );

  test.each(['', 'http://[', '/elsewhere'])('a location of %j is harmless', async (location) => {
    const { failed } = await service(replying(answer(302, '', { location })));
    expect((await failed()).facts.status).toBe(302);
  });
});

describe('fault 15: connections that break between calls', () => {
  test('a kept connection closed by the server is replaced without a failure', async () => {
    const { server, transport } = await service((_request, socket) => {
      socket.write(json(200, ok));
    });
    for (let call = 1; call <= 3; call++) {
      await transport.send(contentsEndpoint, { urls: ['https://a.example'] });
      const gone = [...server.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of server.sockets) socket.end();
      await Promise.all(gone);
    }
    expect(server.requests).toHaveLength(3);
    expect(server.connections()).toBe(3);
  });

  test('a kept connection that breaks when it is used counts as sent', async () => {
    const { transport, failed } = await service((_request, socket, nth) => {
      if (nth === 1) socket.write(json(200, ok));
      else socket.resetAndDestroy();
    });
    await transport.send(contentsEndpoint, { urls: ['https://a.example'] });
    expect((await failed()).facts.phase).toBe('sent');
  });

  test('a restarted server is found again', async () => {
    const { server, transport } = await service(replying(json(200, ok)));
    await transport.send(contentsEndpoint, { urls: ['https://a.example'] });
    await server.close();
    const down = await failed(transport);
    expect(down.facts.phase).toBe('connect');
    closeAfterTest(await rawServer(replying(json(200, ok)), server.port));
    expect((await transport.send(contentsEndpoint, { urls: ['https://a.example'] })).status).toBe(200);
  });

  test('a call that finds no free connection in time was never sent', async () => {
    const { server, transport } = await service(() => undefined, { connections: 1, timeouts: { totalMs: 400 } });
    // With the same limit, the end of the first call could give its connection to the second.
    const [first, second] = await Promise.all([failed(transport, { totalMs: 2000 }), failed(transport)]);
    expect([first?.facts.phase, second?.facts.phase]).toEqual(['sent', 'connect']);
    expect(second?.message).toContain('not sent: no connection was free within 0.4 s');
    expect(second?.verdict.charged).toBe('never');
    expect(server.requests).toHaveLength(1);
  });
});

describe('a signal', () => {
  test('aborts a call in flight at once: perhaps charged', async () => {
    const abort = new AbortController();
    const { failed } = await service(() => abort.abort(new Error(`because of ${KEY}`)));
    const error = await failed({ signal: abort.signal });
    expect(error).toMatchObject({ aborted: true, facts: { phase: 'sent' }, verdict: { charged: 'maybe' } });
  });

  test('aborts a call whose answer is arriving', async () => {
    const abort = new AbortController();
    const { failed } = await service((_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{', () => setImmediate(() => abort.abort()));
    });
    expect(await failed({ signal: abort.signal })).toMatchObject({ aborted: true, verdict: { charged: 'maybe' } });
  });

  test('that was aborted before, or while no connection was free, sends nothing', async () => {
    const abort = new AbortController();
    const { server, transport } = await service(() => abort.abort(), { connections: 1, timeouts: { totalMs: 400 } });
    const first = failed(transport);
    const waiting = failed(transport, { signal: abort.signal });
    expect(await waiting).toMatchObject({ aborted: true, facts: { phase: 'connect' }, verdict: { charged: 'never' } });
    expect(await failed(transport, { signal: abort.signal })).toMatchObject({
      aborted: true,
      facts: { phase: 'connect' },
    });
    await first;
    expect(server.requests).toHaveLength(1);
  });
});

test('close aborts calls in flight, and later calls are never sent', async () => {
  const { transport, failed } = await service(() => void transport.close());
  expect((await failed()).facts.phase).toBe('sent');
  const late = await failed();
  expect(late.message).toContain('the client is closed');
  expect(late.facts.phase).toBe('connect');
});
