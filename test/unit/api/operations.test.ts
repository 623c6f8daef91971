import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/api/answer/read-answer.js';
import { type Client, createClient } from '../../../src/api/client.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import type { SendOptions } from '../../../src/api/transport.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import type { FailureType } from '../../../src/core/purchase/failure.js';
import { examples } from '../../support/api/examples.js';
import { answer, json, rawServer } from '../../support/api/raw-server.js';
import { ofFile } from '../../support/of-file.js';

let reply: Buffer;
const server = ofFile(() => rawServer((_request, socket) => socket.write(reply)));
let client: Client;
beforeAll(async () => {
  client = createClient({ apiKey: 'canary-key', baseUrl: `${server.url}/base/` });
});
afterAll(async () => {
  await client.close();
});

type AnyCall = (input: object, options?: SendOptions) => Promise<Answer<unknown>>;
const call = (name: OperationName): AnyCall => client[name] as AnyCall;
const names = Object.keys(operationTable) as OperationName[];
const onWire = () => {
  const request = server.requests.at(-1);
  if (!request) throw new Error('nothing was sent');
  return { ...request, line: `${request.head.split(' ')[0]} ${request.path.replace('/base', '')}` };
};

describe.each(names)('%s', (name) => {
  const example = examples[name];
  const endpoint = operationTable[name];

  test('sends method, path, query and body, and returns the answer unchanged', async () => {
    const sent = { ...example.input, newField: 'x' };
    const came = { ...example.answer, newField: { deep: [1, null, 0, ''] } };
    reply = json(example.status ?? 200, { ...came, costDollars: { total: 0.007 } }, { 'x-request-id': 'req-1' });
    const { data, requestId, costMicros, status } = await call(name)(sent);
    expect({ requestId, costMicros, status }).toEqual({
      requestId: 'req-1',
      costMicros: 7000,
      status: example.status ?? 200,
    });
    expect(data).toEqual({ ...came, costDollars: { total: 0.007 } });
    const { line, headers, body } = onWire();
    if (endpoint.method === 'GET' || endpoint.method === 'DELETE') {
      expect(line).toBe(`${example.wire}${example.wire.includes('?') ? '&' : '?'}newField=x`);
      expect([headers['content-length'], headers['content-type'], body]).toEqual([undefined, undefined, '']);
    } else {
      expect(line).toBe(example.wire);
      const fields = Object.entries(example.body ?? sent).filter(([key]) => !endpoint.path.includes(`{${key}}`));
      expect(JSON.parse(body)).toEqual({ ...Object.fromEntries(fields), newField: 'x' });
      expect(headers['content-type']).toBe('application/json');
    }
    expect(headers['x-api-key']).toBe('canary-key');
  });

  test('sends only the given fields', async () => {
    reply = json(200, example.answer);
    await call(name)(example.input);
    const { line, body } = onWire();
    expect(line).toBe(example.wire);
    const action =
      endpoint.method !== 'PATCH' && Object.keys(example.input).every((key) => endpoint.path.includes(key));
    if (action || endpoint.method === 'GET') expect(body).toBe('');
  });

  test('is aborted by its signal', async () => {
    const sent = server.requests.length;
    await expect(call(name)(example.input, { signal: AbortSignal.abort() })).rejects.toMatchObject({ aborted: true });
    expect(server.requests).toHaveLength(sent);
  });

  type Row = readonly [number, unknown, Record<string, string>, FailureType, boolean, number | null];
  const agentBusy = { error: { type: 'RATE_LIMIT_ERROR', code: 'CONCURRENCY_LIMIT_REACHED', message: 'm' } };
  const full: FailureType = endpoint.creates ? 'ConcurrencyLimited' : 'RateLimited';
  const standard = (tag: string) => ({ requestId: 'r', error: 'm', tag });
  const agent = (code: string) => ({ error: { type: 'T', code, message: 'm' } });
  const forms = (status: number, tag: string, type: FailureType, retry: boolean): Row[] => [
    [status, standard(tag), {}, type, retry, null],
    [status, agent(tag), {}, type, retry, null],
    [status, { error: { type: 'T', code: tag, message: 'm', detail: 1 }, requestId: 'r' }, {}, type, retry, null],
    // A gateway answers 401 and 403 in its own form: the service does not refuse the key.
    ...(type === 'Unauthorized'
      ? ([
          [status, '<h1>gateway</h1>', { 'x-request-id': 'r' }, 'ServiceUnavailable', true, null],
          [status, { error: 'Forbidden', status }, {}, 'ServiceUnavailable', true, null],
          [status, { message: 'Forbidden' }, {}, 'ServiceUnavailable', true, null],
        ] as Row[])
      : ([
          [status, { error: 'm' }, {}, type, retry, null],
          [status, 'gateway', {}, type, retry, null],
        ] as Row[])),
    [status, standard(tag), { 'retry-after': '7' }, type, retry, 7000],
  ];
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  test.each<Row>([
    ...forms(400, 'INVALID_REQUEST_BODY', 'InvalidRequest', false),
    ...forms(401, 'INVALID_API_KEY', 'Unauthorized', false),
    [401, { error: 'm' }, {}, 'Unauthorized', false, null],
    [401, '', {}, 'Unauthorized', false, null],
    [403, '', {}, 'ServiceUnavailable', true, null],
    [403, { error: 'm' }, {}, 'ServiceUnavailable', true, null],
    ...forms(402, 'NO_MORE_CREDITS', 'PaymentRequired', false),
    [402, standard('TEAM_BUDGET_EXCEEDED'), {}, 'PaymentRequired', false, null],
    [402, { ...standard('X402_PAYMENT_REQUIRED'), accepts: [] }, {}, 'ApiKeyMissing', false, null],
    ...forms(403, 'FEATURE_DISABLED', 'Unauthorized', false),
    ...forms(404, 'RUN_NOT_FOUND', 'NotFound', false),
    ...forms(409, 'DUPLICATE', 'InvalidRequest', false),
    ...forms(422, 'FETCH_DOCUMENT_ERROR', 'InvalidRequest', false),
    ...forms(429, 'RATE_LIMIT_EXCEEDED', 'RateLimited', true),
    [429, standard('x'), { 'retry-after': date, date }, 'RateLimited', true, 0],
    [429, standard('x'), { 'retry-after': 'Sun, 06 Nov 1994 08:49:42 GMT', date }, 'RateLimited', true, 5000],
    [429, standard('x'), { 'retry-after': 'soon' }, 'RateLimited', true, null],
    [429, agentBusy, {}, full, true, null],
    [429, agentBusy, { 'retry-after': '3' }, full, true, 3000],
    [429, standard('CONCURRENCY_LIMIT_REACHED'), {}, full, true, null],
    ...forms(500, 'INTERNAL_ERROR', 'ServiceUnavailable', true),
    ...forms(501, 'UNABLE_TO_GENERATE_RESPONSE', 'InvalidRequest', false),
    ...forms(502, 'DEFAULT_ERROR', 'ServiceUnavailable', true),
    ...forms(503, 'SERVICE_OVERLOADED', 'ServiceUnavailable', true),
    ...forms(504, 'TIMEOUT', 'ServiceUnavailable', true),
  ])('answered %i %j %j is %s', async (status, body, headers, type, retry, retryAfterMs) => {
    reply = typeof body === 'string' ? answer(status, body, headers) : json(status, body, headers);
    const error: unknown = await call(name)(example.input).catch((e: unknown) => e);
    if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
    expect(error.verdict).toMatchObject({ type, retry });
    expect(error.facts).toMatchObject({ status, retryAfterMs });
    expect(error.route).toBe(`${endpoint.method} ${endpoint.path}`);
    const free = [429, 503].includes(status) || status < 500;
    expect(error.verdict.charged).toBe(free || status === 501 ? 'never' : 'maybe');
    expect(error.verdict.blocks).toBe(status === 429 && !JSON.stringify(body).includes('CONCURRENCY'));
  });

  test.each(['null', '[]', '"text"', '<html></html>'])(
    'refuses an answer of %s, except where an operation has no result',
    async (body) => {
      reply = answer(200, body);
      await expect(call(name)(example.input)).rejects.toMatchObject({
        facts: { unrecognized: true },
        verdict: { type: 'ServiceUnavailable', retry: true, charged: 'maybe' },
      });
    },
  );
});

test('each operation has the rate cost of the contract', () => {
  const weights = Object.fromEntries(names.map((name) => [name, operationTable[name].weight]));
  expect(weights).toMatchObject({ createAgentRun: 2, getAgentRun: 0, listAgentRuns: 0, listAgentRunEvents: 0 });
  const others = names.filter((name) => !/AgentRun/.test(name)).map((name) => weights[name]);
  expect(new Set(others)).toEqual(new Set([1]));
});

test('a paid operation may not be repeated, a free and repeatable one may be', () => {
  for (const name of names) {
    const { paid, idempotent, retry } = operationTable[name];
    expect([name, idempotent, /^(rebuy|adopt)$/.test(retry)]).toEqual([name, retry === 'repeat', paid]);
  }
});
