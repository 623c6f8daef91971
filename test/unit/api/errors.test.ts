import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { createTransport } from '../../../src/api/transport.js';
import { readErrorEnvelope } from '../../../src/api/wire/error-envelope.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { connectProblem } from '../../../src/core/connections/connect-problem.js';
import { Secret } from '../../../src/core/connections/secret.js';
import type { FailureType } from '../../../src/core/purchase/failure.js';
import { closeAfterTest } from '../../support/after-test.js';
import { answer, json, rawServer } from '../../support/api/raw-server.js';
import { certificate, privateKey } from '../../support/api/self-signed.js';

const KEY = 'canary-7f3a9c/key';

async function failure(bytes: Buffer, apiKey: Secret | null = new Secret(KEY)): Promise<ApiError> {
  const server = await rawServer((_request, socket) => socket.write(bytes));
  const transport = createTransport({ baseUrl: server.url, apiKey });
  closeAfterTest(server, transport);
  const error: unknown = await transport
    .send(contentsEndpoint, { urls: ['https://a.example'] })
    .catch((e: unknown) => e);
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
  return error;
}

const asIs = (text: string): string => text;

describe('an error envelope', () => {
  test.each<[string, string, string | null, string | null, string | null, form?: string]>([
    [
      'standard',
      '{"requestId":"r","error":"No good","tag":"INVALID_REQUEST"}',
      'No good',
      'INVALID_REQUEST',
      'r',
      'own',
    ],
    [
      'agent',
      '{"error":{"type":"T","code":"RUN_NOT_FOUND","message":"No run"}}',
      'No run',
      'RUN_NOT_FOUND',
      null,
      'own',
    ],
    ['nested', '{"error":{"code":"A_B","message":"m","detail":1},"requestId":"r"}', 'm', 'A_B', 'r', 'own'],
    ['bare', '{"error":"only text"}', 'only text', null, null, 'bare'],
    ['first gateway', '{"error":"no","message":"Forbidden","requestId":"r"}', 'no', null, 'r'],
    ['second gateway', '{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED"}}', 'm', null, null],
    ['third gateway', '{"code":"ACCESS_DENIED","message":"m"}', 'm', 'ACCESS_DENIED', null],
    ['policy', '{"error":{"code":"ACCESS_DENIED","message":"m"}}', 'm', 'ACCESS_DENIED', null, 'bare'],
    ['policy of a type', '{"error":{"type":"FORBIDDEN_BY_POLICY"}}', null, 'FORBIDDEN_BY_POLICY', null, 'bare'],
    ['snake case', '{"error":{"message":"m"},"code":"X_OUT","request_id":"r"}', 'm', 'X_OUT', 'r'],
    ['outer message', '{"error":{"code":"A_B"},"message":"m"}', 'm', 'A_B', null, 'bare'],
    ['message', '{"message":"only message"}', 'only message', null, null],
    ['doubled', '{"error":{"error":"m","tag":"A_B"}}', 'm', 'A_B', null, 'bare'],
    ['null', '{"error":null,"tag":7}', null, null, null],
    ['list', '[1]', '[1]', null, null],
    ['text', 'upstream\r\n  gone', 'upstream gone', null, null],
    [
      'HTML',
      '<html><style>a{}</style><h1>Bad</h1>Gateway<script>x()</script></html>',
      'Bad Gateway',
      null,
      null,
      'page',
    ],
    ['empty', ' ', null, null, null, 'none'],
  ])('of the %s form is read', (_name, text, message, tag, requestId, form = 'other') => {
    expect(readErrorEnvelope(text, asIs)).toEqual({ message, tag, requestId, form, challenge: null });
  });

  test.each([
    '['.repeat(200_000),
    '{"error":'.repeat(60_000),
    `{"a":"]\\\\\\"${'['.repeat(9)}","b":${'[['.repeat(9000)}`,
  ])('that nests too deeply is read as text', (text) => {
    expect(readErrorEnvelope(text, asIs)).toMatchObject({ tag: null, message: expect.any(String) });
  });

  test('becomes one line of at most 300 characters, without control and direction characters', () => {
    const { message } = readErrorEnvelope(
      JSON.stringify({ error: `a\u001b[2J\u202eb\u0000${'x'.repeat(9000)}` }),
      asIs,
    );
    expect(message).toMatch(/^a \[2J b x+…$/);
    expect(message).toHaveLength(300);
  });
});

// The test of the operations has each status in the usual forms.
test.each<[number, unknown, FailureType, boolean]>([
  [401, { error: { code: 'UNAUTHORIZED', message: 'no' } }, 'Unauthorized', false],
  [401, { error: { code: 'invalid_api_key', message: 'of a gateway' } }, 'ServiceUnavailable', true],
  [401, 'no key', 'ServiceUnavailable', true],
  [403, { error: 'no' }, 'ServiceUnavailable', true],
  [403, { error: { type: 'AUTHENTICATION_ERROR', code: 'NEW_NAME', message: 'no' } }, 'Unauthorized', false],
  [403, { error: { code: 'ACCESS_DENIED', message: 'no' }, requestId: 'r' }, 'Unauthorized', false],
  [403, { error: { code: 'ACCESS_DENIED', message: 'Blocked by policy' } }, 'ServiceUnavailable', true],
  [403, { error: { type: 'FORBIDDEN_BY_POLICY' } }, 'ServiceUnavailable', true],
  [451, 'blocked', 'ServiceUnavailable', true],
  [451, '<h1>Blocked</h1>', 'ServiceUnavailable', true],
  [404, '<h1>Blocked</h1>', 'ServiceUnavailable', true],
  [400, '<h1>Blocked</h1>', 'ServiceUnavailable', true],
  [404, 'Not Found', 'NotFound', false],
  [413, '<h1>Too large</h1>', 'InvalidRequest', false],
  [429, '<h1>Slow down</h1>', 'RateLimited', true],
  [409, {}, 'InvalidRequest', false],
  [422, {}, 'InvalidRequest', false],
  [500, {}, 'ServiceUnavailable', true],
  [504, {}, 'ServiceUnavailable', true],
  [599, {}, 'ServiceUnavailable', true],
])('a status %d with %j is %s', async (status, body, type, retry) => {
  const error = await failure(typeof body === 'string' ? answer(status, body) : json(status, body));
  expect(error.facts).toMatchObject({ phase: 'answer', status });
  expect(error.verdict).toMatchObject({ type, retry });
  expect(error.message).toMatch(new RegExp(`^POST /contents: ${status}`));
});

test('an empty 401 refuses the key, and says that a gateway may have sent it', async () => {
  const { message } = await failure(answer(401, ''));
  expect(message).toMatch(
    /401 Unauthorized: the answer is empty, so a gateway or proxy before 127.0.0.1:\d+ may have sent it/,
  );
});

test('the challenge of a call without a key is kept in the details', async () => {
  const challenge = { x402Version: 2, resource: { url: 'https://x' }, accepts: [{ scheme: 'exact', amount: '7000' }] };
  const body = { requestId: 'r', error: 'Pay', tag: 'X402_PAYMENT_REQUIRED', ...challenge };
  const error = await failure(json(402, body), null);
  expect(error.verdict).toMatchObject({ type: 'ApiKeyMissing', retry: false });
  expect(error.details).toEqual(challenge);
});

test.each([
  ['the message', json(401, { error: `bad key ${KEY}!`, tag: KEY }, { 'x-request-id': KEY })],
  ['escaped JSON', answer(401, `{"error":"bad key ${KEY.replace('/', '\\/')}"}`)],
  ['a name of a field', json(402, { accepts: [{ [KEY]: 1 }] })],
  ['a URL', json(400, { error: `at /?key=${encodeURIComponent(KEY)}` })],
  ['the challenge', json(402, { accepts: [{ payTo: KEY }] })],
])('a key that the server repeats in %s is in no part of the error', async (_name, bytes) => {
  const error = await failure(bytes);
  const parts = [error.message, error.serverMessage, error.requestId, error.facts, error.details, error.stack];
  expect(JSON.stringify(parts)).not.toMatch(/canary/);
});

test('a body in gzip is read', async () => {
  const { gzipSync } = await import('node:zlib');
  const error = await failure(answer(400, gzipSync('{"error":"small"}'), { 'content-encoding': 'gzip' }));
  expect(error.serverMessage).toBe('small');
});

test.each([
  ['413', 413, 'Payload Too Large'],
  ['<h1>413 Payload Too Large</h1>', 413, 'Payload Too Large'],
  ['', 414, 'URI Too Long'],
])('a request that is too large is named in words, without the status again (%s)', async (body, status, name) => {
  const error = await failure(answer(status, body));
  expect(error.message).toBe(
    `POST /contents: ${status} ${name}: the request was too large for the service or a proxy before it`,
  );
  expect(error.verdict).toMatchObject({ type: 'InvalidRequest', charged: 'never' });
});

async function connectFailure(baseUrl: string): Promise<ApiError> {
  const transport = createTransport({ baseUrl, apiKey: new Secret('canary-7f3a9c-key'), timeouts: { connectMs: 500 } });
  closeAfterTest(transport);
  const error: unknown = await transport
    .send(contentsEndpoint, { urls: ['https://a.example'] })
    .catch((e: unknown) => e);
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
  return error;
}

describe('fault 14: a service that cannot be reached', () => {
  test('refused connections and unknown hosts name the setting and were never charged', async () => {
    const server = await rawServer(() => undefined);
    await server.close();
    const refused = await connectFailure(server.url);
    expect(refused.message).toBe(
      `POST /contents: cannot reach 127.0.0.1:${server.port}: connection refused [ECONNREFUSED]; ` +
        'the address is set by baseUrl',
    );
    expect(refused.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'never' });
    const unknown = await connectFailure('https://no-such-host.invalid');
    expect(unknown.message).toMatch(/cannot reach no-such-host\.invalid: .*DNS.*baseUrl/);
    expect(unknown.facts.phase).toBe('connect');
  });

  test('an untrusted certificate is named, and the key is not sent', async () => {
    let bytes = 0;
    const server = createServer({ cert: certificate, key: privateKey }, (socket) =>
      socket.on('data', (d) => (bytes += d.length)),
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closeAfterTest(server);
    const error = await connectFailure(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(error.message).toMatch(/its certificate is self-signed \[DEPTH_ZERO_SELF_SIGNED_CERT\]; .*baseUrl/);
    expect(error.facts.phase).toBe('connect');
    expect(bytes).toBe(0);
  });

  test('a server without TLS is named', async () => {
    const server = await rawServer(() => undefined);
    closeAfterTest(server);
    server.onConnection((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const error = await connectFailure(`https://127.0.0.1:${server.port}`);
    expect(error.message).toContain('does not speak TLS');
    expect(error.facts.phase).toBe('connect');
  });

  test('a proxy that requires credentials names the setting', async () => {
    const server = await rawServer((_request, socket) => socket.write(answer(407, '')));
    closeAfterTest(server);
    const error = await connectFailure(server.url);
    expect(error.message).toMatch(/^POST \/contents: 407 .*: a proxy .* HTTPS_PROXY, or correct baseUrl$/);
    expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'never' });
  });

  test.each<[string | null, RegExp]>([
    ['CERT_HAS_EXPIRED', /certificate has expired/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /certificate is for another name/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /certificate chain is incomplete/],
    ['EAI_AGAIN', /DNS/],
    ['UND_ERR_CONNECT_TIMEOUT', /timed out/],
    ['EMFILE', /file handles/],
    ['ERR_SSL_SOMETHING_NEW', /TLS failed/],
    ['EWHATEVER', /the connection failed \[EWHATEVER\]/],
    [null, /the connection failed;/],
  ])('%s has a message in words', (code, words) => {
    expect(connectProblem(code, 'api.example', 'baseUrl')).toMatch(words);
  });
});
