import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { searchEndpoint } from '../../../src/api/endpoints/search.js';
import { createTransport } from '../../../src/api/transport.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { closeAfterTest } from '../../support/after-test.js';
import { answer, type Handler, json, rawServer, transportOf } from '../../support/api/raw-server.js';
import { failureOf } from '../../support/failure-of.js';

const KEY = 'canary-7f3a9c-key';
const urls = ['https://a.example/1'];

const replying =
  (bytes: Buffer): Handler =>
  (_request, socket) =>
    socket.write(bytes);

async function failure(call: Promise<unknown>): Promise<ApiError> {
  const error = await failureOf(call);
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
  return error;
}

describe('an answer', () => {
  test('is the exact value that was sent, with the cost, id, queue and clock from its headers', async () => {
    const body = {
      zeta: 1,
      results: [{ title: null, url: 'https://a.example/1', text: '', score: 0, brandNew: { x: [null] } }],
      statuses: [{ id: 'https://a.example/1', status: 'success', source: 'crawled' }],
      costDollars: { total: 0.001, contents: { text: 0.001 } },
    };
    const headers = {
      'x-request-id': 'req_1',
      'x-svc-queued': 'true',
      'x-svc-queue-ms': '12.5',
      date: 'Sat, 21 Nov 2026 12:00:00 GMT',
      deprecation: '@1735689600',
    };
    const { transport } = await transportOf(replying(json(200, body, headers)));
    const came = await transport.send(contentsEndpoint, { urls });
    expect(JSON.stringify(came.data)).toBe(JSON.stringify(body));
    expect(came).toMatchObject({
      status: 200,
      requestId: 'req_1',
      costMicros: 1000,
      queued: true,
      queueMs: 12.5,
      date: Date.UTC(2026, 10, 21, 12),
      deprecation: '@1735689600',
      bytes: JSON.stringify(body).length,
    });
  });

  test('takes the id from the body and the queue from the other prefix, and returns null for missing values', async () => {
    const headers = { 'x-exa-queued': 'false', 'x-exa-queue-ms': 'soon' };
    const { transport } = await transportOf(replying(json(200, { requestId: 'req_b', results: [] }, headers)));
    const came = await transport.send(contentsEndpoint, { urls });
    expect(came).toMatchObject({ requestId: 'req_b', queued: false, queueMs: null, costMicros: null, date: null });
  });

  test.each<[string, (body: string) => Buffer]>([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('is read from %s', async (encoding, encode) => {
    const bytes = encode(JSON.stringify({ results: [{ text: 'é'.repeat(50_000) }] }));
    const { server, transport } = await transportOf(replying(answer(200, bytes, { 'content-encoding': encoding })));
    const came = await transport.send(contentsEndpoint, { urls });
    expect(came.data.results[0]?.text).toHaveLength(50_000);
    expect(server.requests[0]?.headers['accept-encoding']).toBe('gzip, br');
  });

  test('may begin with a byte order mark, be chunked, and come after early hints', async () => {
    const { transport } = await transportOf((_request, socket) => {
      const text = '\ufeff{"results":[{"title":"ü"}]}';
      const bytes = Buffer.from(text);
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      for (const byte of bytes)
        socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
      socket.write('0\r\n\r\n');
    });
    expect((await transport.send(contentsEndpoint, { urls })).data.results[0]?.title).toBe('ü');
  });
});

describe('a request', () => {
  test('sends the key in the given header, the base path and every field, known or not', async () => {
    const server = await rawServer(replying(json(200, { results: [] })));
    const named = createTransport({
      baseUrl: `${server.url}/v9/`,
      apiKey: new Secret(KEY),
      headers: { 'X-Beta': 'one' },
    });
    const bearer = createTransport({ baseUrl: server.url, apiKey: new Secret(KEY), auth: 'bearer' });
    const keyless = createTransport({ baseUrl: server.url, apiKey: null });
    closeAfterTest(server, named, bearer, keyless);
    const input = { query: 'q', type: 'brand-new', contents: { text: true, newOption: 1 }, newField: [1] };
    await named.send(searchEndpoint, input, { extraBody: { more: null }, extraHeaders: { 'x-trace': 't' } });
    await bearer.send(searchEndpoint, input);
    await keyless.send(searchEndpoint, input);
    const [first, second, third] = server.requests;
    expect(first?.path).toBe('/v9/search');
    expect(JSON.parse(first?.body ?? '')).toEqual({ ...input, more: null });
    expect(first?.headers).toMatchObject({
      'x-api-key': KEY,
      'x-beta': 'one',
      'x-trace': 't',
      'content-type': 'application/json',
    });
    expect(second?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(second?.headers['x-api-key']).toBeUndefined();
    expect(third?.head).not.toContain(KEY);
  });

  test('is refused before sending if a limit, a type or a header is wrong, with its name', async () => {
    const { server, transport } = await transportOf(replying(json(200, { results: [] })));
    const limit = await failure(transport.send(searchEndpoint, { query: 'q', numResults: 0 }));
    expect(limit.message).toBe(
      'POST /search: refused before sending: numResults: must be a whole number of at least 1 (got 0)',
    );
    expect(limit).toMatchObject({
      field: 'numResults',
      verdict: { type: 'InvalidRequest', retry: false, charged: 'never' },
    });
    const type = await failure(transport.send(contentsEndpoint, { urls: [7] }));
    expect(type).toMatchObject({ field: 'urls[0]', facts: { phase: 'refused' } });
    const header = await failure(
      transport.send(contentsEndpoint, { urls }, { extraHeaders: { 'x-a': `${KEY}\r\nx-b: 1` } }),
    );
    expect(header).toMatchObject({ field: 'extraHeaders.x-a', facts: { phase: 'refused' } });
    expect(header.message).not.toContain(KEY);
    const own = await failure(transport.send(contentsEndpoint, { urls }, { extraHeaders: { Authorization: 'x' } }));
    expect(own.field).toBe('extraHeaders.authorization');
    expect(() => transport.check(searchEndpoint, { query: '' })).toThrow('query: must be a text that is not empty');
    expect(server.connections()).toBe(0);
  });

  test.each([
    ['ftp://a.example'],
    ['nonsense'],
    ['https://user:pass-word@a.example'],
    ['https://a.example/?token=pass-word'],
  ])('is never sent to the base URL %s, which is not shown', (baseUrl) => {
    const create = () => createTransport({ baseUrl, apiKey: null });
    expect(create).toThrow(/baseUrl/);
    expect(create).not.toThrow(/pass-word/);
  });

  test('is never sent with a key that no header can carry, which is not shown', () => {
    const create = () => createTransport({ baseUrl: 'https://a.example', apiKey: new Secret(`${KEY}\n`) });
    expect(create).toThrow(/API key/);
    expect(create).not.toThrow(KEY);
  });
});

test('connections are kept for the next call', async () => {
  const { server, transport } = await transportOf(replying(json(200, { results: [] })));
  await Promise.all([1, 2, 3].map(() => transport.send(contentsEndpoint, { urls })));
  // The connection is free only after the current turn of Node's event loop.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await transport.send(contentsEndpoint, { urls });
  expect(server.requests).toHaveLength(4);
  expect(server.connections()).toBe(3);
});
