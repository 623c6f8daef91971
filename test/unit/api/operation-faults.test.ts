import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../../src/api/client.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { examples } from '../../support/api/examples.js';
import { answer, type Handler, json, type RawServer, rawServer } from '../../support/api/raw-server.js';

const KEY = 'canary-7f3a9c-key';
const MIB = 1_048_576;
const names = Object.keys(operationTable) as OperationName[];

/** The fault of each request, by the first part of its path; a client selects its fault by the base URL. */
const faults = new Map<string, Handler>();
const clients = new Map<string, Client>();
let server: RawServer;
let elsewhere: RawServer;
beforeAll(async () => {
  elsewhere = await rawServer((_request, socket) => socket.write(json(200, {})));
  server = await rawServer((request, socket, nth) =>
    faults.get(request.path.split('/')[1] ?? '')?.(request, socket, nth),
  );
});
afterAll(async () => {
  for (const client of clients.values()) await client.close();
  await server.close();
  await elsewhere.close();
});

const timeouts = { headersMs: 300, bodyMs: 300, totalMs: 900 };
function clientOf(fault: string): Client {
  const known = clients.get(fault);
  if (known) return known;
  const baseUrl = `${server.url}/${fault}`;
  const client = createClient({ apiKey: KEY, baseUrl, timeouts, maxBodyBytes: 2 * MIB });
  clients.set(fault, client);
  return client;
}

const call = (client: Client, name: OperationName): Promise<unknown> =>
  (client[name] as (input: object) => Promise<unknown>)(examples[name].input);

/** The failure of one call; the fault applies to every request. */
async function failure(fault: string, name: OperationName): Promise<ApiError> {
  const error: unknown = await call(clientOf(fault), name).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`${name}: expected an ApiError, got ${String(error)}`);
  expect(`${error.stack}${error.message}${JSON.stringify(error)}`).not.toContain(KEY);
  return error;
}

type Expected = { readonly type: string; readonly charged?: 'maybe' | 'never'; readonly phase?: string };
const lost: Expected = { type: 'ServiceUnavailable', charged: 'maybe', phase: 'sent' };
const unrecognized: Expected = { type: 'ServiceUnavailable', charged: 'maybe', phase: 'answer' };
const unusable: Expected = { type: 'ResponseShape', charged: 'maybe', phase: 'answer' };
const replying =
  (bytes: Buffer | string): Handler =>
  (_request, socket) =>
    socket.write(bytes);
const ending =
  (bytes: Buffer | string): Handler =>
  (_request, socket) =>
    socket.end(bytes);
const ok = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const bomb = gzipSync(Buffer.alloc(20 * MIB, ' '));
const drip: Handler = (_request, socket) => {
  socket.write(`${ok}content-length: 1000000\r\n\r\n{`);
  const timer = setInterval(() => socket.write(' '), 100);
  socket.on('close', () => clearInterval(timer));
};

const table: readonly (readonly [string, Handler, Expected])[] = [
  ['fault 5: closed after the request', (_request, socket) => socket.end(), lost],
  ['fault 5: reset after the request', (_request, socket) => socket.resetAndDestroy(), lost],
  ['fault 7: headers that never come', () => undefined, lost],
  ['fault 7: a body that stalls', replying(`${ok}content-length: 100\r\n\r\n{"`), lost],
  ['fault 7: a body that drips', drip, lost],
  ['fault 8: half a head', ending('HTTP/1.1 200 OK\r\ncontent-le'), lost],
  ['fault 8: a length that is too long', ending(`${ok}content-length: 99\r\n\r\n{"data":[]}`), lost],
  ['fault 8: a missing last chunk', ending(`${chunked}2\r\n{}\r\n`), lost],
  ['fault 8: a broken chunk', replying(`${chunked}zz\r\n{}\r\n0\r\n\r\n`), lost],
  ['fault 8: half an answer, well framed', replying(answer(200, '{"data":[{"id":')), lost],
  ['fault 8: half of a gzip', replying(answer(200, bomb.subarray(0, 30), { 'content-encoding': 'gzip' })), lost],
  ['fault 9: HTML', replying(answer(200, '<!doctype html><p>Hello', { 'content-type': 'text/html' })), unrecognized],
  ['fault 9: null', replying(answer(200, 'null')), unrecognized],
  ['fault 9: a list', replying(answer(200, '[]')), unrecognized],
  ['fault 10: a length of 1 GB', replying(`${ok}content-length: ${1024 * MIB}\r\n\r\n{`), unusable],
  ['fault 10: a gzip bomb', replying(answer(200, bomb, { 'content-encoding': 'gzip' })), unusable],
  [
    'fault 10: 100 encodings',
    replying(answer(200, '{}', { 'content-encoding': Array(100).fill('gzip').join() })),
    unusable,
  ],
  [
    'fault 11: a redirect to another host',
    (_request, socket) => socket.write(answer(307, '', { location: `${elsewhere.url}/contents` })),
    { type: 'ServiceUnavailable', charged: 'never', phase: 'answer' },
  ],
  [
    'fault 12: 401',
    replying(json(401, { error: 'm', tag: 'INVALID_API_KEY' })),
    { type: 'Unauthorized', charged: 'never' },
  ],
  ['fault 12: 403', replying(json(403, { error: 'm', tag: 'FEATURE_DISABLED' })), { type: 'Unauthorized' }],
  ['fault 13: 402', replying(json(402, { error: 'm', tag: 'NO_MORE_CREDITS' })), { type: 'PaymentRequired' }],
  ['fault 14: 407 of a proxy', replying(answer(407, '')), { type: 'ServiceUnavailable', charged: 'never' }],
];

/** An answer in which every field that an operation knows has a value of a wrong type. */
function odd(extra: object): object {
  const fields = Object.values(examples).flatMap(({ answer: known }) => Object.keys(known));
  return { ...Object.fromEntries(fields.map((name) => [name, name === 'id' ? [] : 7])), deleted: 'x', ...extra };
}

test.each(table.map(([label, handler, expected], index) => ({ label, handler, expected, fault: `f${index}` })))(
  '$label: each operation reports the failure and its possible cost',
  async ({ handler, expected, fault }) => {
    faults.set(fault, handler);
    const all = await Promise.all(names.map((name) => failure(fault, name)));
    const seen = all.map(({ verdict, facts }, index) => [names[index], { ...verdict, phase: facts.phase }]);
    expect(seen).toEqual(names.map((name) => [name, expect.objectContaining(expected)]));
  },
);

test('fault 9: a field of another type is dropped from the answer to a free call', async () => {
  faults.set(
    'odd',
    replying(json(200, odd({ id: 'x', status: 'running', data: [], hasMore: false, nextCursor: null }))),
  );
  for (const name of names.filter((one) => !operationTable[one].paid && operationTable[one].idempotent))
    expect([name, (await call(clientOf('odd'), name)) !== undefined]).toEqual([name, true]);
});

test('fault 11: no call was sent to the other host', () => {
  expect(elsewhere.connections()).toBe(0);
});

describe.each(names)('%s', (name) => {
  const good = json(examples[name].status ?? 200, examples[name].answer);

  test('fault 9: an empty answer does not come from the service, except after a deletion', async () => {
    faults.set('empty', replying(answer(200, '')));
    if (operationTable[name].method === 'DELETE') await call(clientOf('empty'), name);
    else expect((await failure('empty', name)).facts.unrecognized).toBe(true);
  });

  test('fault 16: an answer in small, late pieces arrives whole', async () => {
    faults.set(`slow-${name}`, (_request, socket) => {
      socket.write(good.subarray(0, -3));
      setTimeout(() => socket.write(good.subarray(-3)), 50);
    });
    expect(await call(clientOf(`slow-${name}`), name)).toMatchObject({ data: examples[name].answer });
  });
});
